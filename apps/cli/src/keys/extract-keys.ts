/**
 * Extracts the key of each record of a chunk. Whole lines go to the library as they are; columns
 * and fields are packed first. A record without the column or the field is an error that names the
 * line, because a silently missing key would be a false negative later. With `--skip-missing` such
 * records are left out of the chunk, and their number is reported. `--jsonl` takes strings as they
 * are, and numbers and booleans as JavaScript writes them (1.0 is 1). It refuses anything else, and
 * numbers beyond 2^53, because several of them would become one key.
 */

import { countLines, eachLine, type KeyBatch, type PackedKeys } from 'bloomery';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';
import { fieldOf, parseJsonPath } from './json-path.ts';
import { delimiterOf, isWholeLine, type KeyOptions } from './key-options.ts';
import { closingCsvQuote, type RecordChunk } from './record-chunks.ts';

export interface ChunkKeys {
  /** One key for each record, in order. */
  readonly keys: KeyBatch;
  readonly count: number;
  /**
   * End of each record, after its newline, or null if each newline ends one. A header is not a
   * record: see `start`.
   */
  readonly ends: Uint32Array | null;
  /** Start of the first record. */
  readonly start: number;
  /** Records that were left out because they have no key. */
  readonly skipped: number;
  /** The place of each record among all of the chunk, from 0; null if none was left out. */
  readonly numbers: Uint32Array | null;
}

/** Fields of a chunk in which each record has a key. */
export const NONE_SKIPPED = { skipped: 0, numbers: null } as const;

/** Warns of records that were skipped, because a wrong name would skip all of them. */
export function warnOfSkipped(
  path: string,
  { skipped, count }: { readonly skipped: number; readonly count: number },
  { column, jsonl }: KeyOptions,
): void {
  if (skipped === 0) return;
  const what = jsonl === undefined ? `no column ${column}` : `no text or number at ${jsonl}`;
  const all = (skipped + count).toLocaleString('en-US');
  warn(`${path}: ${skipped.toLocaleString('en-US')} of ${all} records have ${what} and were skipped`);
}

/**
 * Extracts the keys of a chunk. `columns` remembers the column that a name stands for, from the
 * first chunk of a file to the others.
 */
export function extractKeys(
  chunk: RecordChunk,
  options: KeyOptions,
  columns: ColumnNames = new Map(),
): ChunkKeys {
  const { bytes } = chunk;
  if (isWholeLine(options)) {
    return { keys: { lines: bytes }, count: countLines(bytes), ends: null, start: 0, ...NONE_SKIPPED };
  }
  if (options.column !== undefined) return columnKeys(chunk, options, columns);
  if (options.jsonl !== undefined) return jsonKeys(chunk, options);
  return plainKeys(bytes, options.null ? 0 : NEWLINE, options.crlf === true);
}

export type ColumnNames = Map<string, number>;

/**
 * Finds the column that a name stands for, in the first chunk of a file, for callers that may
 * process another chunk before it.
 */
export function nameColumns(chunk: RecordChunk, options: KeyOptions, columns: ColumnNames): void {
  if (chunk.first && options.column !== undefined) readHeader(chunk, options, columns);
}

/**
 * Packs keys one after the other, with the ends of their records. The gaps of skipped records are
 * closed in the chunk itself, so that the remaining records lie one after the other.
 */
class Packer {
  /** The records, of which those before `#from` have been read. */
  readonly #records: Uint8Array;
  #bytes: Uint8Array;
  #used = 0;
  readonly #offsets: number[] = [0];
  readonly #ends: number[] = [];
  readonly #numbers: number[] = [];
  readonly #start: number;
  /** The next record begins at `#from` and goes to `#to`. */
  #from: number;
  #to: number;
  #skipped = 0;
  #skippedLines = 0;

  constructor(records: Uint8Array, start = 0) {
    this.#records = records;
    this.#bytes = new Uint8Array(records.length);
    this.#start = start;
    this.#from = start;
    this.#to = start;
  }

  /** The number of the line at which the next record begins. */
  get line(): number {
    return countLines(this.#records.subarray(0, this.#to)) + this.#skippedLines + 1;
  }

  /** Leaves out a record. */
  skip(recordEnd: number): void {
    this.#skippedLines += countLines(this.#records.subarray(this.#from, recordEnd));
    this.#from = recordEnd;
    this.#skipped++;
  }

  add(key: Uint8Array, recordEnd: number): void {
    if (this.#used + key.length > this.#bytes.length) {
      const larger = new Uint8Array(2 * (this.#used + key.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(key, this.#used);
    this.#used += key.length;
    this.#offsets.push(this.#used);
    // The key has been copied, and a record only moves towards the beginning.
    if (this.#to !== this.#from) this.#records.copyWithin(this.#to, this.#from, recordEnd);
    this.#to += recordEnd - this.#from;
    this.#from = recordEnd;
    this.#numbers.push(this.#ends.length + this.#skipped);
    this.#ends.push(this.#to);
  }

  finish(): ChunkKeys {
    const keys: PackedKeys = {
      bytes: this.#bytes.subarray(0, this.#used),
      offsets: Uint32Array.from(this.#offsets),
    };
    const numbers = this.#skipped === 0 ? null : Uint32Array.from(this.#numbers);
    const [skipped, start] = [this.#skipped, this.#start];
    return { keys, count: this.#ends.length, ends: Uint32Array.from(this.#ends), start, skipped, numbers };
  }
}

function plainKeys(bytes: Uint8Array, separator: number, crlf: boolean): ChunkKeys {
  const packer = new Packer(bytes);
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(separator, at);
    const end = found < 0 ? bytes.length : found;
    const next = found < 0 ? end : end + 1;
    packer.add(bytes.subarray(at, crlf && end > at && bytes[end - 1] === RETURN ? end - 1 : end), next);
    at = next;
  }
  return packer.finish();
}

function columnKeys(chunk: RecordChunk, options: KeyOptions, columns: ColumnNames): ChunkKeys {
  const { bytes, path } = chunk;
  const wanted = options.column!;
  const delimiter = delimiterOf(options, path);
  const start = chunk.first ? readHeader(chunk, options, columns) : 0;
  const packer = new Packer(bytes, start);
  const column = isNumber(wanted) ? Number(wanted) - 1 : columns.get(path)!;
  for (let at = start; at < bytes.length; ) {
    let index = 0;
    let key: Uint8Array | undefined;
    let clean = true;
    const next = readRecord(bytes, at, delimiter, (field, whole) => {
      if (index++ !== column) return;
      key = field;
      clean = whole;
    });
    const where = () =>
      chunk.first ? `line ${packer.line}` : `a line that begins with ${excerpt(bytes, at)}`;
    if (key === undefined) {
      // A blank line is an empty key, the same as for whole lines.
      if (index <= 1 && isBlank(bytes.subarray(at, next))) {
        packer.add(NOTHING, next);
        at = next;
        continue;
      }
      if (options.skipMissing) {
        packer.skip(next);
        at = next;
        continue;
      }
      const columnCount = index === 1 ? '1 column' : `${index} columns`;
      throw new UsageError(
        `${path}: ${where()} has ${columnCount}, expected column ${column + 1}; --delimiter says what is between them, --skip-missing passes over such lines`,
      );
    }
    if (!clean) {
      throw new UsageError(
        `${path}: ${where()} has text behind a closing quote in column ${column + 1}; a quoted field ends with its quote (RFC 4180)`,
      );
    }
    packer.add(key, next);
    at = next;
  }
  return packer.finish();
}

/**
 * Remembers the column that a name stands for. Returns where the first record after a header
 * begins.
 */
function readHeader({ bytes, path }: RecordChunk, options: KeyOptions, columns: ColumnNames): number {
  const wanted = options.column!;
  const named = !isNumber(wanted);
  if (!named && !options.header) return 0;
  const names: string[] = [];
  const next = readRecord(bytes, 0, delimiterOf(options, path), (field) =>
    names.push(Buffer.from(field).toString().trim()),
  );
  if (named) columns.set(path, columnNamed(wanted, names, path));
  return next;
}

function isNumber(column: string): boolean {
  return /^[1-9]\d*$/.test(column);
}

/**
 * Visits the fields of the record at `at`, and returns where the next record begins. Quotes work as
 * in RFC 4180. `whole` is false for a field with text after its closing quote; that text is not
 * part of the field.
 */
function readRecord(
  bytes: Uint8Array,
  at: number,
  delimiter: number,
  visit: (field: Uint8Array, whole: boolean) => void,
): number {
  for (let from = at; ; ) {
    let end: number;
    if (bytes[from] === QUOTE) {
      const close = closingCsvQuote(bytes, from);
      const field = bytes.subarray(from + 1, close < 0 ? bytes.length : close);
      const behind = close < 0 ? bytes.length : close + 1;
      for (end = behind; end < bytes.length && bytes[end] !== delimiter && bytes[end] !== NEWLINE; end++);
      visit(withoutDoubledQuotes(field), end === behind || isBlank(bytes.subarray(behind, end)));
    } else {
      for (end = from; end < bytes.length && bytes[end] !== delimiter && bytes[end] !== NEWLINE; end++);
      const last = end > from && bytes[end - 1] === RETURN && bytes[end] !== delimiter ? end - 1 : end;
      visit(bytes.subarray(from, last), true);
    }
    if (end >= bytes.length) return bytes.length;
    if (bytes[end] === NEWLINE) return end + 1;
    from = end + 1;
  }
}

function columnNamed(wanted: string, names: readonly string[], path: string): number {
  const index = names.indexOf(wanted);
  if (index >= 0) return index;
  throw new UsageError(`${path} has no column ${JSON.stringify(wanted)}; it has ${names.join(', ')}`);
}

function jsonKeys({ bytes, path, first }: RecordChunk, { jsonl, skipMissing }: KeyOptions): ChunkKeys {
  const steps = parseJsonPath(jsonl!);
  const packer = new Packer(bytes);
  const text = new TextEncoder();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  let at = 0;
  for (const record of eachLine(bytes)) {
    const next = Math.min(at + record.length + 1, bytes.length);
    line++;
    const fail = (what: string) => {
      const where = first ? `line ${line}` : `a line that begins with ${excerpt(bytes, at)}`;
      return new UsageError(`${path}: ${where} ${what}`);
    };
    if (isBlank(record)) {
      packer.add(NOTHING, next);
    } else {
      let value: unknown;
      try {
        value = JSON.parse(decoder.decode(record));
      } catch {
        throw fail('is not JSON');
      }
      const field = fieldOf(value, steps);
      if (field === undefined || field === null || typeof field === 'object') {
        if (!skipMissing) {
          throw fail(`has no text or number at ${jsonl}; --skip-missing passes over such lines`);
        }
        packer.skip(next);
        at = next;
        continue;
      }
      // 2^53 + 1 would become the key 2^53, and so would 2^53.
      if (typeof field === 'number' && Math.abs(field) > Number.MAX_SAFE_INTEGER) {
        throw fail(`has a number at ${jsonl} that is too large to be exact; as text, in quotes, it is a key`);
      }
      packer.add(text.encode(String(field)), next);
    }
    at = next;
  }
  return packer.finish();
}

const NEWLINE = 10;
const RETURN = 13;
const QUOTE = 34;
const NOTHING = new Uint8Array(0);

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === NEWLINE || byte === RETURN || byte === 32 || byte === 9);
}

function excerpt(bytes: Uint8Array, at: number): string {
  return JSON.stringify(Buffer.from(bytes.subarray(at, at + 40)).toString());
}

/** Replaces each pair of quotes by one quote. */
function withoutDoubledQuotes(field: Uint8Array): Uint8Array {
  let quote = field.indexOf(QUOTE);
  if (quote < 0) return field;
  const single = new Uint8Array(field.length);
  let used = 0;
  let from = 0;
  for (; quote >= 0; quote = field.indexOf(QUOTE, from)) {
    single.set(field.subarray(from, quote + 1), used);
    used += quote + 1 - from;
    from = quote + 2;
  }
  single.set(field.subarray(from), used);
  return single.subarray(0, used + Math.max(0, field.length - from));
}
