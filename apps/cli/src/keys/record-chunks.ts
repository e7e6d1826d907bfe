/**
 * Cuts an input into chunks of whole records, so that each chunk can go to any worker. A record
 * ends with a newline, or with a zero byte. In CSV, a newline inside quotes does not end a record.
 *
 * A record that does not fit in a chunk makes the chunk longer, up to a limit (record-limit.ts).
 */

import { FRAME_MAGIC, hasMagic } from 'bloomery/frames';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';
import type { BufferPool } from './buffer-pool.ts';
import { type Input, PART, PlainFile } from './input.ts';
import { delimiterOf, type KeyOptions } from './key-options.ts';
import { LONGEST_RECORD, longRecord } from './record-limit.ts';

export interface RecordChunk {
  readonly path: string;
  /** Whole records with their ends. The last record of an input may lack its end. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether it is the first chunk, which may begin with the line that names the columns. */
  readonly first: boolean;
}

export async function* recordChunks(
  input: Input,
  options: KeyOptions,
  buffers: BufferPool,
  onRead?: (bytes: number) => void,
): AsyncGenerator<RecordChunk> {
  const quoted = options.column !== undefined;
  // A wrong delimiter is refused before anything is read.
  const delimiter = quoted ? delimiterOf(options, input.path) : 0;
  const end = options.null ? 0 : NEWLINE;
  const cutOf = (bytes: Uint8Array) =>
    quoted ? scanRecords(bytes, delimiter).end : bytes.lastIndexOf(end) + 1;
  let first = true;
  let rest: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  for await (const { bytes: found, whole } of partsWithRest(input, () => rest, buffers, onRead)) {
    let bytes = found;
    if (first && rest.length === 0) {
      checkFirst(input.path, bytes, options);
      if (quoted && hasMark(bytes)) bytes = bytes.subarray(3);
    }
    if (whole && quoted) checkClosed(input.path, bytes, delimiter);
    const cut = whole ? bytes.length : cutOf(bytes);
    // The rest is copied before the chunk is yielded, because the chunk takes its memory along.
    rest = bytes.slice(cut);
    if (cut > 0) yield { path: input.path, bytes: bytes.subarray(0, cut), first };
    if (cut > 0) first = false;
    if (rest.length > LONGEST_RECORD) throw longRecord(input.path, quoted ? 'record' : 'line');
  }
}

interface Part {
  /** The rest of the earlier parts, and the next part. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether this is the end of the input. */
  readonly whole: boolean;
}

/**
 * Yields each part after the rest of the earlier ones. Plain files are read directly into place,
 * into buffers that are reused.
 */
async function* partsWithRest(
  input: Input,
  rest: () => Uint8Array<ArrayBuffer>,
  buffers: BufferPool,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<Part> {
  if (!input.plainFile) {
    let parts: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    for await (const part of input.parts(onRead)) {
      parts.push(part);
      size += part.length;
      // Gathers at least as much as the rest, so that a record of many parts is not copied and
      // searched again with each part.
      if (size < rest().length) continue;
      yield { bytes: join([rest(), ...parts]), whole: false };
      parts = [];
      size = 0;
    }
    if (rest().length + size > 0) yield { bytes: join([rest(), ...parts]), whole: false };
    if (rest().length > 0) yield { bytes: rest(), whole: true };
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

function join(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const filled = parts.filter(({ length }) => length > 0);
  if (filled.length === 1) return filled[0];
  const whole = new Uint8Array(filled.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of filled) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Finds where the last whole CSV record ends, which is after the last newline outside quotes, in
 * bytes that begin with a record. It also returns the position of a quote that is still open at the
 * end of the bytes, or -1. A quote opens a field only at the start of a field, the same as when
 * records are read (extract-keys.ts). If the two disagreed about `5" pipe`, a file would be cut
 * within a later quoted field.
 */
function scanRecords(bytes: Uint8Array, delimiter: number): { end: number; open: number } {
  let end = 0;
  for (let at = 0; ; ) {
    const quote = openingQuote(bytes, at, delimiter);
    const outside = bytes.subarray(at, quote < 0 ? bytes.length : quote);
    const newline = outside.lastIndexOf(NEWLINE);
    if (newline >= 0) end = at + newline + 1;
    if (quote < 0) return { end, open: -1 };
    const close = closingCsvQuote(bytes, quote);
    if (close < 0) return { end, open: quote };
    at = close + 1;
  }
}

/** The next quote that opens a field, or -1. */
function openingQuote(bytes: Uint8Array, from: number, delimiter: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    const before = bytes[at - 1];
    if (at === 0 || before === delimiter || before === NEWLINE) return at;
  }
  return -1;
}

/** The quote that closes the field opened at `open`, or -1. A pair of quotes does not close it. */
export function closingCsvQuote(bytes: Uint8Array, open: number): number {
  let close = bytes.indexOf(QUOTE, open + 1);
  while (close >= 0 && bytes[close + 1] === QUOTE) close = bytes.indexOf(QUOTE, close + 2);
  return close;
}

/**
 * Refuses a quote that is never closed: it would take all following lines into one key, and their
 * keys would be missing.
 */
function checkClosed(path: string, bytes: Uint8Array, delimiter: number): void {
  const { open } = scanRecords(bytes, delimiter);
  if (open < 0) return;
  const begin = JSON.stringify(Buffer.from(bytes.subarray(open, open + 40)).toString());
  throw new UsageError(`${path}: the quote that begins ${begin} is never closed`);
}

/** Whether the bytes begin with the byte order mark of UTF-8, which programs on Windows write. */
function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Checks the first bytes of an input for binary data, CR LF line ends and a byte order mark. */
export function checkFirst(path: string, bytes: Uint8Array, options: KeyOptions): void {
  checkText(path, bytes, options);
  if (options.forgiving) return;
  lookForReturns(path, bytes, options);
  lookForMark(path, bytes, options);
}

/**
 * Warns of a byte order mark, which makes the first key a different one. In CSV and JSON it is
 * dropped.
 */
function lookForMark(path: string, bytes: Uint8Array, options: KeyOptions): void {
  if (options.column !== undefined || options.jsonl !== undefined) return;
  if (hasMark(bytes)) {
    warn(
      `${path} begins with a byte order mark, which is taken as part of the first key; without it: tail -c +4 ${path}`,
    );
  }
}

/** Warns of CR LF line ends: a CR at the end of a key makes it a different key. */
function lookForReturns(path: string, bytes: Uint8Array, options: KeyOptions): void {
  if (options.crlf || options.null || options.column !== undefined || options.jsonl !== undefined) return;
  const newline = bytes.indexOf(NEWLINE);
  if (newline > 0 && bytes[newline - 1] === RETURN) {
    warn(`the lines of ${path} end with CR LF, and the CR is taken as part of each key; --crlf drops it`);
  }
}

/**
 * Refuses zero bytes, which mean that the input is not text: it may be a filter, a picture or
 * UTF-16.
 */
function checkText(path: string, bytes: Uint8Array, options: KeyOptions): void {
  if (options.null || options.binary) return;
  const at = bytes.subarray(0, 65536).indexOf(0);
  if (at < 0) return;
  if (hasMagic(FRAME_MAGIC, bytes)) {
    throw new UsageError(`${path} is a filter, expected a file of keys; check takes several filters by -f`);
  }
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  throw new UsageError(
    utf16
      ? `${path} is UTF-16; make UTF-8 of it first: iconv -f UTF-16 -t UTF-8 ${path}`
      : `${path} looks binary (a zero byte at ${at}); --null if keys end with zero bytes, --binary to take its lines as they are`,
  );
}
