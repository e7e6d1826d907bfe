/**
 * Writes and reads bytes field by field. Numbers are LEB128, seven bits per byte, least significant
 * first.
 */

import { FrameError } from '../../frames/envelope.ts';

export class ByteWriter {
  readonly #parts: (Uint8Array | number[])[] = [];
  /** The small fields that were written since the last call of `bytes`. */
  #small: number[] = [];
  #length = 0;

  byte(value: number): void {
    this.#small.push(value);
  }

  /** Writes an integer from 0 to 2^53 - 1. */
  number(value: number): void {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#small.push((rest % 128) | 128);
    this.#small.push(rest);
  }

  bytes(bytes: Uint8Array): void {
    if (this.#small.length > 0) {
      this.#parts.push(this.#small);
      this.#length += this.#small.length;
      this.#small = [];
    }
    this.#parts.push(bytes);
    this.#length += bytes.length;
  }

  finish(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#length + this.#small.length);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    whole.set(this.#small, at);
    return whole;
  }
}

export class ByteReader {
  readonly #bytes: Uint8Array;
  /** The offset of the bytes in the message, for errors. */
  readonly #base: number;
  #at = 0;

  constructor(bytes: Uint8Array, base = 0) {
    this.#bytes = bytes;
    this.#base = base;
  }

  get offset(): number {
    return this.#base + this.#at;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  byte(what: string): number {
    if (this.left < 1) this.fail('truncated', `expected ${what}, got the end`);
    return this.#bytes[this.#at++];
  }

  /**
   * Reads a number. Throws if it is not written in its shortest form or is above `most`, which is
   * 2^53 - 1 by default. So each number has one encoding.
   */
  number(what: string, most = Number.MAX_SAFE_INTEGER): number {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = this.byte(what);
      value += (byte & 127) * unit;
      if (value > most) this.fail('payload', `expected ${what} of at most ${most}, got more`);
      if (byte < 128) {
        if (byte === 0 && unit > 1) this.fail('payload', `expected ${what} in its shortest form`);
        return value;
      }
      if (unit >= 2 ** 49) this.fail('payload', `expected ${what}, got a number without end`);
    }
  }

  /** Reads bytes as a view. */
  bytes(length: number, what: string): Uint8Array {
    if (this.left < length) this.fail('truncated', `expected ${length} bytes of ${what}, got ${this.left}`);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  end(): void {
    if (this.left > 0) this.fail('trailing', `expected the end, got ${this.left} bytes more`);
  }

  fail(code: 'truncated' | 'trailing' | 'payload', message: string): never {
    throw new FrameError(code, this.offset, message);
  }
}

/** Copies bytes into words, with zeros at the end. */
export function wordsOf(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(Math.ceil(bytes.length / 4));
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

/** Whether two byte strings are equal. The same object is, without a look at its bytes. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
