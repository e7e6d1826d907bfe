/**
 * The lines of a stream of bytes in UTF-8, without their line feeds. Bytes that are not UTF-8 are
 * refused: replaced by one and the same character, different keys would become equal.
 */

import { JoinError } from './join-error.ts';

/** A longer line, or a longer record of CSV, is refused before it fills the memory. */
export const MOST_LINE_CHARACTERS = 2 ** 26;

export async function* textLines(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let count = 0;
  const decoded = (piece?: Uint8Array) => {
    try {
      return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
    } catch (cause) {
      throw new JoinError(
        'file',
        `Cannot join: expected UTF-8, got other bytes (${name}, after line ${count})`,
        {
          cause,
        },
      );
    }
  };
  let rest = '';
  for await (const piece of bytes) {
    rest += decoded(piece);
    if (rest.length > MOST_LINE_CHARACTERS && !rest.includes('\n'))
      throw tooLong(`${name}, line ${count + 1}`);
    if (!piece.includes(LINE_FEED)) continue;
    const lines = rest.split('\n');
    rest = lines.pop()!;
    count += lines.length;
    yield* lines;
  }
  rest += decoded();
  if (rest !== '') yield rest;
}

export function tooLong(where: string): JoinError {
  return new JoinError(
    'file',
    `Cannot join: expected a line of at most ${MOST_LINE_CHARACTERS} characters, got a longer one (${where})`,
  );
}

const LINE_FEED = 10;
