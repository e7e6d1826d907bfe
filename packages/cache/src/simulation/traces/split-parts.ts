/**
 * Cuts parts of bytes, which end anywhere, into lines or into numbers of fixed size. Lines come in
 * batches, one for each part, because a promise for each line would cost more than reading it.
 */

import { TraceError } from './trace-error.ts';

/** Parts of a file in order. */
type Parts = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const NEWLINE = 10;
const LONGEST_LINE = 1 << 20;

/**
 * Yields the lines without their ends (LF, or CR LF), as Latin-1. Bytes after the last end are one
 * more line. A line of more than 1 MiB is cut there, so that a file without line ends does not fill
 * the memory. A zero byte in the first part is an error: the file is no text.
 */
export async function* lineBatches(parts: Parts, path: string): AsyncGenerator<string[]> {
  let rest: Uint8Array = new Uint8Array(0);
  let first = true;
  for await (const part of parts) {
    if (first && part.includes(0)) {
      throw new TraceError(
        'format',
        `Cannot read a trace: expected lines of text, got a zero byte (${path}, byte ${part.indexOf(0)})`,
      );
    }
    first = false;
    const bytes = joined(rest, part);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0) yield linesIn(bytes.subarray(0, end - 1));
    rest = bytes.slice(end);
    if (rest.length > LONGEST_LINE) {
      yield linesIn(rest);
      rest = new Uint8Array(0);
    }
  }
  if (rest.length > 0) yield linesIn(rest);
}

/**
 * Yields numbers of `width` bytes as names, in batches. Bytes after the last whole number are
 * dropped.
 */
export async function* numberBatches(parts: Parts, width: number): AsyncGenerator<string[]> {
  let rest: Uint8Array = new Uint8Array(0);
  for await (const part of parts) {
    const bytes = joined(rest, part);
    const count = Math.floor(bytes.length / width);
    const text = asLatin1(bytes.subarray(0, count * width));
    yield Array.from({ length: count }, (_, i) => text.slice(i * width, (i + 1) * width));
    rest = bytes.slice(count * width);
  }
}

function linesIn(bytes: Uint8Array): string[] {
  return asLatin1(bytes)
    .split('\n')
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
}

function asLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function joined(rest: Uint8Array, part: Uint8Array): Uint8Array {
  if (rest.length === 0) return part;
  const whole = new Uint8Array(rest.length + part.length);
  whole.set(rest);
  whole.set(part, rest.length);
  return whole;
}
