/**
 * Reads lines of UTF-8 text from a file or standard input, in pieces of a quarter of a megabyte,
 * whatever the size of the input. Input that is not text is refused when it is met: zero bytes,
 * invalid UTF-8, and lines that are too long.
 */

import { closeSync, openSync } from 'node:fs';
import { patientRead } from '../files/patient-read.ts';
import { UsageError } from '../usage-error.ts';

/** Yields the lines without their ends; `-` is standard input. */
export function* readLines(path: string): Generator<string> {
  const descriptor = path === '-' ? 0 : openSync(path, 'r');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const buffer = new Uint8Array(PIECE);
  let pending = '';
  try {
    for (let end = false; !end; ) {
      const length = patientRead(descriptor, buffer);
      end = length === 0;
      pending += decodePiece(path, decoder, buffer.subarray(0, length), end);
      const lines = pending.split('\n');
      pending = lines.pop()!;
      if (pending.length > MOST_LINE)
        throw new UsageError(`${path} has a line of more than 16 MB; this is no text`);
      for (const line of lines) yield line.replace(/\r$/, '');
    }
    if (pending !== '') yield pending;
  } finally {
    if (path !== '-') closeSync(descriptor);
  }
}

function decodePiece(
  path: string,
  decoder: InstanceType<typeof TextDecoder>,
  bytes: Uint8Array,
  end: boolean,
): string {
  if (bytes.includes(0))
    throw new UsageError(`${path} has NUL bytes: it is binary, or UTF-16; expected text in UTF-8`);
  try {
    return decoder.decode(bytes, { stream: !end });
  } catch {
    throw new UsageError(
      `${path} is not UTF-8; if it is Latin 1: iconv -f ISO-8859-1 -t UTF-8 ${path} | bloomery spell`,
    );
  }
}

const MOST_LINE = 16e6;
const PIECE = 2 ** 18;
