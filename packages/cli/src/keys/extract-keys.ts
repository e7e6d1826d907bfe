/**
 * The key of each record of a chunk. Whole lines go to the library as they are; columns and fields are packed first. A record
 * without the column or the field is an error that names the line, because a key that is silently missing is a false
 * negative later; `--jsonl` takes strings as they are, numbers and booleans as JSON writes them, and nothing else.
 */

import { countLines, type KeyBatch, type PackedKeys } from 'bloomery';
import { UsageError } from '../usage-error.ts';
import { fieldOf, parseJsonPath } from './json-path.ts';
import { delimiterOf, isWholeLine, type KeyOptions } from './key-options.ts';
import type { RecordChunk } from './record-chunks.ts';

export interface ChunkKeys {
  /** One key for each record, in order. */
  readonly keys: KeyBatch;
  readonly count: number;
  /** Where each record ends, behind its newline; null: with each newline. A header is no record: see `start`. */
  readonly ends: Uint32Array | null;
  /** Where the first record begins. */
  readonly start: number;
}

/** `columns` remembers the column that a name stands for, from the first chunk of a file to the others. */
export function extractKeys(
  chunk: RecordChunk,
  options: KeyOptions,
  columns: ColumnNames = new Map(),
): ChunkKeys {
  const { bytes } = chunk;
  if (isWholeLine(options)) {
    return { keys: { lines: bytes }, count: countLines(bytes), ends: null, start: 0 };
  }
  if (options.column !== undefined) return columnKeys(chunk, options, columns);
  if (options.jsonl !== undefined) return jsonKeys(chunk, options);
  return plainKeys(bytes, options.null ? 0 : NEWLINE, options.crlf === true);
}

export type ColumnNames = Map<string, number>;

/** Keys packed one behind the other, and where their records end. */
class Packer {
  #bytes: Uint8Array;
  #used = 0;
  readonly #offsets: number[] = [0];
  readonly #ends: number[] = [];

  constructor(room: number) {
    this.#bytes = new Uint8Array(room);
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
    this.#ends.push(recordEnd);
  }

  finish(start: number): ChunkKeys {
    const keys: PackedKeys = {
      bytes: this.#bytes.subarray(0, this.#used),
      offsets: Uint32Array.from(this.#offsets),
    };
    return { keys, count: this.#ends.length, ends: Uint32Array.from(this.#ends), start };
  }
}

function plainKeys(bytes: Uint8Array, separator: number, crlf: boolean): ChunkKeys {
  const packer = new Packer(bytes.length);
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(separator, at);
    const end = found < 0 ? bytes.length : found;
    const next = found < 0 ? end : end + 1;
    packer.add(bytes.subarray(at, crlf && end > at && bytes[end - 1] === RETURN ? end - 1 : end), next);
    at = next;
  }
  return packer.finish(0);
}

function columnKeys(chunk: RecordChunk, options: KeyOptions, columns: ColumnNames): ChunkKeys {
  const { bytes, path } = chunk;
  const wanted = options.column!;
  const named = !/^[1-9]\d*$/.test(wanted);
  const delimiter = delimiterOf(options, path);
  const packer = new Packer(bytes.length);
  let at = 0;
  let start = 0;
  let line = 1;
  if (chunk.first && (named || options.header)) {
    const names: string[] = [];
    at = readRecord(bytes, 0, delimiter, (field) => names.push(Buffer.from(field).toString().trim()));
    start = at;
    line++;
    if (named) columns.set(path, columnNamed(wanted, names, path));
  }
  const column = named ? columns.get(path)! : Number(wanted) - 1;
  for (; at < bytes.length; line++) {
    let index = 0;
    let key: Uint8Array | undefined;
    const next = readRecord(bytes, at, delimiter, (field) => {
      if (index++ === column) key = field;
    });
    if (key === undefined) {
      // A blank line is an empty key, as it is among whole lines.
      if (index <= 1 && isBlank(bytes.subarray(at, next))) {
        packer.add(NOTHING, next);
        at = next;
        continue;
      }
      const where = chunk.first ? `line ${line}` : `a line that begins with ${excerpt(bytes, at)}`;
      throw new UsageError(
        `${path}: ${where} has ${index} columns, expected column ${column + 1}; --delimiter says what is between them`,
      );
    }
    packer.add(key, next);
    at = next;
  }
  return packer.finish(start);
}

/** Visits the fields of the record at `at`, and says where the next one begins. Quotes as in RFC 4180. */
function readRecord(
  bytes: Uint8Array,
  at: number,
  delimiter: number,
  visit: (field: Uint8Array) => void,
): number {
  for (let from = at; ; ) {
    let end: number;
    if (bytes[from] === QUOTE) {
      let close = bytes.indexOf(QUOTE, from + 1);
      let doubled = false;
      while (close >= 0 && bytes[close + 1] === QUOTE) {
        doubled = true;
        close = bytes.indexOf(QUOTE, close + 2);
      }
      end = close < 0 ? bytes.length : close;
      const field = bytes.subarray(from + 1, end);
      visit(doubled ? withoutDoubledQuotes(field) : field);
      for (end++; end < bytes.length && bytes[end] !== delimiter && bytes[end] !== NEWLINE; end++);
    } else {
      for (end = from; end < bytes.length && bytes[end] !== delimiter && bytes[end] !== NEWLINE; end++);
      const last = end > from && bytes[end - 1] === RETURN && bytes[end] !== delimiter ? end - 1 : end;
      visit(bytes.subarray(from, last));
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

function jsonKeys({ bytes, path, first }: RecordChunk, { jsonl }: KeyOptions): ChunkKeys {
  const steps = parseJsonPath(jsonl!);
  const packer = new Packer(bytes.length);
  const text = new TextEncoder();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(NEWLINE, at);
    const next = found < 0 ? bytes.length : found + 1;
    const record = bytes.subarray(at, found < 0 ? next : found);
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
        throw fail(`has no text or number at ${jsonl}`);
      }
      packer.add(text.encode(String(field)), next);
    }
    at = next;
  }
  return packer.finish(0);
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

function withoutDoubledQuotes(field: Uint8Array): Uint8Array {
  return Uint8Array.from(
    field.filter((byte, i) => byte !== QUOTE || field[i - 1] !== QUOTE || isSecondKept(field, i)),
  );
}

/** Of each pair of quotes the first stays. */
function isSecondKept(field: Uint8Array, i: number): boolean {
  let before = 0;
  while (field[i - 1 - before] === QUOTE) before++;
  return before % 2 === 0;
}
