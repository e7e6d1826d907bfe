/**
 * Rows from PostgreSQL's COPY text: a line for each row, tabs between the columns, `\N` for NULL,
 * and a backslash before tabs, line feeds, carriage returns and backslashes of the values. COPY
 * writes these as `\t`, `\n`, `\r`, `\\`, and also `\b`, `\f` and `\v`.
 */

import type { ReadOptions, Row } from './join-side.ts';

const LINE_FEED = 10;
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** The rows of a stream of COPY text, a batch for each piece of the stream. */
export async function* copyRows(
  stream: AsyncIterable<Uint8Array>,
  { signal }: ReadOptions = {},
): AsyncGenerator<readonly Row[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of stream) {
    signal?.throwIfAborted();
    const bytes = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece]);
    const end = bytes.lastIndexOf(LINE_FEED) + 1;
    rest = bytes.subarray(end);
    if (end > 0) yield rowsOf(bytes.toString('utf8', 0, end - 1));
  }
  if (rest.length > 0) yield rowsOf(rest.toString('utf8'));
}

function rowsOf(text: string): Row[] {
  const hasEscapes = text.includes('\\');
  return text.split('\n').map((line) => {
    const values = line.split('\t');
    return hasEscapes ? values.map(unescaped) : values;
  });
}

function unescaped(value: string): string | null {
  if (!value.includes('\\')) return value;
  if (value === '\\N') return null;
  return value.replaceAll(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter);
}
