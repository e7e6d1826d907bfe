/**
 * Reads a foreign header field by field. Every read is checked against the available bytes, and a
 * 64-bit size that is not an exact JavaScript number is refused. `payload` compares the size that a
 * header declares with the available bytes and with the caller's limit before anything is
 * allocated.
 */

import { typeName } from '../../keys/key.ts';
import { checkInteger } from '../../math/checks.ts';
import type { ForeignFormat } from './foreign-formats.ts';
import { FormatError, type FormatErrorCode } from './format-error.ts';

/** Options of every `decode` of a foreign format. */
export interface ForeignDecodeOptions {
  /**
   * The most bytes that the bits may take. Default 2^30. A larger filter is a `FormatError` with
   * code 'limit'.
   */
  readonly maxBytes?: number;
}

/**
 * More hashes than any of the programs writes (it is DataSketches' own limit). A lookup never takes
 * longer than 1 ms.
 */
export const MAX_FOREIGN_HASHES = 32767;

/** Throws a TypeError if an argument is not a `Uint8Array`. */
export function checkBytes(name: string, bytes: unknown): void {
  if (bytes instanceof Uint8Array) return;
  throw new TypeError(`Cannot use ${name}: expected a Uint8Array, got ${typeName(bytes)}`);
}

export class ForeignReader {
  readonly format: ForeignFormat;
  readonly bytes: Uint8Array;
  /** The next byte to be read. */
  at = 0;
  readonly #view: DataView;
  readonly #little: boolean;

  constructor(format: ForeignFormat, bytes: Uint8Array, order: 'little-endian' | 'big-endian') {
    checkBytes(`a ${format} filter`, bytes);
    this.format = format;
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#little = order === 'little-endian';
  }

  /** The number of bytes that are left. */
  get left(): number {
    return this.bytes.length - this.at;
  }

  u8(what: string): number {
    return this.bytes[this.#take(1, what)];
  }

  u16(what: string): number {
    return this.#view.getUint16(this.#take(2, what), this.#little);
  }

  i16(what: string): number {
    return this.#view.getInt16(this.#take(2, what), this.#little);
  }

  u32(what: string): number {
    return this.#view.getUint32(this.#take(4, what), this.#little);
  }

  i32(what: string): number {
    return this.#view.getInt32(this.#take(4, what), this.#little);
  }

  f64(what: string): number {
    return this.#view.getFloat64(this.#take(8, what), this.#little);
  }

  u64(what: string): bigint {
    return this.#view.getBigUint64(this.#take(8, what), this.#little);
  }

  /** Reads a 64-bit number that must be exact in JavaScript: a size or a count. */
  size(what: string): number {
    const value = this.u64(what);
    if (value > MAX_SAFE) this.fail('parameters', `${what} of at most 2^53 - 1`, value, this.at - 8);
    return Number(value);
  }

  /** Throws unless the header field just read, of `width` bytes, makes sense. */
  expect(sound: boolean, width: number, expected: string, got: unknown): void {
    if (!sound) this.fail('parameters', expected, got, this.at - width);
  }

  /**
   * Checks that `length` bytes of bits follow and may be loaded. With `exactly`, nothing may follow
   * them. Returns their offset and moves past them. Copies nothing.
   */
  payload(length: number, options: ForeignDecodeOptions, exactly = true): number {
    const maxBytes = limitOf(options);
    if (length > maxBytes) this.fail('limit', `at most ${maxBytes} bytes of bits`, length);
    if (this.left < length) this.fail('truncated', `${length} bytes of bits`, this.left);
    if (exactly && this.left > length) this.fail('trailing', `${length} bytes of bits`, this.left);
    this.at += length;
    return this.at - length;
  }

  fail(code: FormatErrorCode, expected: string, got: unknown, at = this.at): never {
    throw new FormatError(this.format, code, at, `expected ${expected}, got ${got}`);
  }

  #take(count: number, what: string): number {
    if (this.left < count) this.fail('truncated', `${count} bytes of ${what}`, this.left);
    this.at += count;
    return this.at - count;
  }
}

/**
 * A copy of some bytes of a file. We do not use `bytes.slice`, because that of Node's Buffer is a
 * view of the same memory.
 */
export function copyOf(bytes: Uint8Array, start: number, end = bytes.length): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.subarray(start, end));
}

/** The limit that the caller set, or the default. */
export function limitOf({ maxBytes = DEFAULT_MAX_BYTES }: ForeignDecodeOptions): number {
  return checkInteger('maxBytes', maxBytes);
}

const DEFAULT_MAX_BYTES = 2 ** 30;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);
