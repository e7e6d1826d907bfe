/**
 * An input cut into chunks of whole records, so that each chunk can go to any worker. A record ends with a newline, or with
 * a zero byte; in CSV a newline inside quotes does not end one.
 *
 * A record that does not fit in a chunk makes the chunk longer, up to a limit (record-limit.ts).
 */

import { UsageError } from '../usage-error.ts';
import { warn } from '../warning.ts';
import type { BufferPool } from './buffer-pool.ts';
import { type Input, PART, PlainFile } from './input.ts';
import { delimiterOf, type KeyOptions } from './key-options.ts';
import { LONGEST_RECORD, longRecord } from './record-limit.ts';

export interface RecordChunk {
  readonly path: string;
  /** Whole records with their ends; the last record of an input may have none. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether it begins with the line that names the columns. */
  readonly first: boolean;
}

export async function* recordChunks(
  input: Input,
  options: KeyOptions,
  buffers: BufferPool,
  onRead?: (bytes: number) => void,
): AsyncGenerator<RecordChunk> {
  const quoted = options.column !== undefined;
  if (quoted) delimiterOf(options, input.path); // refused before anything is read
  const end = options.null ? 0 : NEWLINE;
  const cutOf = (bytes: Uint8Array) => (quoted ? lastRecordEnd(bytes) : bytes.lastIndexOf(end) + 1);
  let first = true;
  let rest: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  for await (const { bytes, whole } of partsWithRest(input, () => rest, buffers, onRead)) {
    if (first && rest.length === 0) checkFirst(input.path, bytes, options);
    const cut = whole ? bytes.length : cutOf(bytes);
    // Copied before the chunk is handed over, which takes its memory along.
    rest = bytes.slice(cut);
    if (cut > 0) yield { path: input.path, bytes: bytes.subarray(0, cut), first };
    if (cut > 0) first = false;
    if (rest.length > LONGEST_RECORD) throw longRecord(input.path, quoted ? 'record' : 'line');
  }
}

interface Part {
  /** What was left over of the parts before, and the next part. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Nothing follows. */
  readonly whole: boolean;
}

/** Each part behind the rest of those before. Plain files are read right there, into buffers that are used again. */
async function* partsWithRest(
  input: Input,
  rest: () => Uint8Array,
  buffers: BufferPool,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<Part> {
  if (!input.plainFile) {
    for await (const part of input.parts(onRead)) yield { bytes: join(rest(), part), whole: false };
    if (rest().length > 0) yield { bytes: Uint8Array.from(rest()), whole: true };
    return;
  }
  const file = new PlainFile(input.path);
  try {
    for (;;) {
      const before = rest();
      const bytes = buffers.take(before.length < PART / 2 ? PART : 2 * before.length);
      bytes.set(before);
      const length = file.read(bytes, before.length);
      onRead(length);
      if (length === 0 && before.length === 0) return;
      yield { bytes: bytes.subarray(0, before.length + length), whole: length === 0 };
      if (length === 0) return;
    }
  } finally {
    file.close();
  }
}

const NEWLINE = 10;
const RETURN = 13;
const QUOTE = 34;

function join(a: Uint8Array, b: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (a.length === 0) return b;
  const whole = new Uint8Array(a.length + b.length);
  whole.set(a);
  whole.set(b, a.length);
  return whole;
}

/** Where the last whole CSV record ends: the last newline with an even number of quotes before it. */
function lastRecordEnd(bytes: Uint8Array): number {
  let quotes = 0;
  for (let at = bytes.indexOf(QUOTE); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) quotes++;
  // Backwards from the end, where `quotes` is the number before it.
  for (let at = bytes.length - 1; at >= 0; at--) {
    if (bytes[at] === QUOTE) quotes--;
    else if (bytes[at] === NEWLINE && quotes % 2 === 0) return at + 1;
  }
  return 0;
}

/** What is no text, or has other line ends than it seems: looked for in the first bytes of an input. */
export function checkFirst(path: string, bytes: Uint8Array, options: KeyOptions): void {
  checkText(path, bytes, options);
  lookForReturns(path, bytes, options);
}

/** A CR at the end of every key would make each of them another key than the one that is meant. */
function lookForReturns(path: string, bytes: Uint8Array, options: KeyOptions): void {
  if (options.crlf || options.null || options.column !== undefined || options.jsonl !== undefined) return;
  const newline = bytes.indexOf(NEWLINE);
  if (newline > 0 && bytes[newline - 1] === RETURN) {
    warn(`the lines of ${path} end with CR LF, and the CR is taken as part of each key; --crlf drops it`);
  }
}

/** Zero bytes are no text: somebody gave a filter, a picture or UTF-16 for a list of keys. */
function checkText(path: string, bytes: Uint8Array, options: KeyOptions): void {
  if (options.null || options.binary) return;
  const at = bytes.subarray(0, 65536).indexOf(0);
  if (at < 0) return;
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  throw new UsageError(
    utf16
      ? `${path} is UTF-16; make UTF-8 of it first: iconv -f UTF-16 -t UTF-8 ${path}`
      : `${path} looks binary (a zero byte at ${at}); --null if keys end with zero bytes, --binary to take its lines as they are`,
  );
}
