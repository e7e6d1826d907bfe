/**
 * Golomb codes of rising integers: the bits of `kernel/coders/golomb.ts`, for numbers up to 2^48
 * that lie in no array. A writer and a reader take one number at a time, so that their cost is the
 * number of integers and their work can be interrupted. Several sequences share one run of bits:
 * `begin` starts the next one, with a parameter of its own.
 *
 * Why Golomb. The gaps are geometric, and for those the code is the best that codes one gap at a
 * time. Over the entropy we measured +0.5 % at 100,000 positions in 9.2 million and +0.2 % at
 * 100,000 in 1.28 billion (bench/results/summaries.md). Rice's codes, with a power of two as
 * parameter, lose up to 1.7 %. An arithmetic code of the gaps would save those 0.5 %, 14 bytes of a
 * delta of 2,862, and its decoder is slower: a step for each bit where this one reads a field.
 */

import { FrameError } from '../../frames/envelope.ts';

/** The parameter for `count` integers below `universe`. */
export function gapParameter(count: number, universe: number): number {
  return Math.min(MAX_PARAMETER, Math.max(1, Math.round((universe * Math.LN2) / Math.max(1, count))));
}

export const MAX_PARAMETER = 2 ** 48;

export class GapWriter {
  #bytes = new Uint8Array(256);
  #length = 0;
  /** Bits that do not fill a byte yet. */
  #rest = 0;
  #restBits = 0;
  #parameter = 1;
  #width = 0;
  #cut = 0;
  #next = 0;

  /** Starts a sequence. */
  begin(parameter: number): void {
    this.#parameter = parameter;
    this.#width = widthOf(parameter);
    this.#cut = 2 ** this.#width - parameter;
    this.#next = 0;
  }

  /** Writes an integer that is above the one before. */
  put(value: number): void {
    const gap = value - this.#next;
    this.#next = value + 1;
    let zeros = Math.floor(gap / this.#parameter);
    const remainder = gap - zeros * this.#parameter;
    for (; zeros >= PUT; zeros -= PUT) this.#bits(0, PUT);
    this.#bits(2 ** zeros, zeros + 1);
    const width = this.#width;
    if (width === 0) return;
    if (remainder < this.#cut) {
      this.#wide(remainder, width - 1);
    } else {
      const moved = remainder + this.#cut;
      const half = Math.floor(moved / 2);
      this.#wide(half, width - 1);
      this.#bits(moved - 2 * half, 1);
    }
  }

  /** All sequences, filled up with zeros to whole bytes. */
  finish(): Uint8Array<ArrayBuffer> {
    if (this.#restBits > 0) this.#byte(this.#rest);
    return this.#bytes.slice(0, this.#length);
  }

  #wide(value: number, width: number): void {
    if (width <= PUT) {
      this.#bits(value, width);
    } else {
      const upper = Math.floor(value / 2 ** PUT);
      this.#bits(value - upper * 2 ** PUT, PUT);
      this.#wide(upper, width - PUT);
    }
  }

  #bits(value: number, width: number): void {
    this.#rest |= value << this.#restBits;
    this.#restBits += width;
    for (; this.#restBits >= 8; this.#restBits -= 8) {
      this.#byte(this.#rest & 255);
      this.#rest >>>= 8;
    }
  }

  #byte(value: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#length++] = value;
  }
}

/** Reads what a `GapWriter` wrote. Throws a `FrameError` at any other bits. */
export class GapReader {
  readonly #bytes: Uint8Array;
  readonly #base: number;
  #at = 0; // in bits
  #parameter = 1;
  #width = 0;
  #cut = 0;
  #next = 0;
  #end = 0;

  /** `base` is the offset of the bytes in their message, for errors. */
  constructor(bytes: Uint8Array, base: number) {
    this.#bytes = bytes;
    this.#base = base;
  }

  /** Starts a sequence of integers below `end`. */
  begin(parameter: number, end: number): void {
    this.#parameter = parameter;
    this.#width = widthOf(parameter);
    this.#cut = 2 ** this.#width - parameter;
    this.#next = 0;
    this.#end = end;
  }

  /** The next integer. */
  take(): number {
    const quotient = this.#zeros();
    let remainder = 0;
    if (this.#width > 0) {
      remainder = this.#wide(this.#width - 1);
      if (remainder >= this.#cut) remainder = 2 * remainder + this.#bits(1) - this.#cut;
    }
    const value = this.#next + quotient * this.#parameter + remainder;
    if (this.#at > 8 * this.#bytes.length) this.#fail('truncated', 'the rest of a number, got the end');
    if (value >= this.#end) this.#fail('payload', `numbers below ${this.#end}, got ${value}`);
    this.#next = value + 1;
    return value;
  }

  /** Throws unless only zeros of less than a byte are left. */
  finish(): void {
    const left = 8 * this.#bytes.length - this.#at;
    if (left >= 8) this.#fail('trailing', `the end, got ${left} bits more`);
    if (left > 0 && this.#bits(left) !== 0) this.#fail('payload', 'zeros at the end, got other bits');
  }

  /** The number of zeros before the next one, which is taken as well. */
  #zeros(): number {
    const start = this.#at;
    let at = start >>> 3;
    let byte = at < this.#bytes.length ? this.#bytes[at] >>> (start & 7) : 0;
    let from = start;
    while (byte === 0) {
      if (++at >= this.#bytes.length) this.#fail('truncated', 'a number, got the end');
      byte = this.#bytes[at];
      from = 8 * at;
    }
    const zeros = from - start + 31 - Math.clz32(byte & -byte);
    this.#at = start + zeros + 1;
    return zeros;
  }

  #wide(width: number): number {
    if (width <= PUT) return this.#bits(width);
    const lower = this.#bits(PUT);
    return this.#wide(width - PUT) * 2 ** PUT + lower;
  }

  /** Bits beyond the end are zeros; `take` refuses them. */
  #bits(width: number): number {
    const at = this.#at >>> 3;
    const bytes = this.#bytes;
    const word = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    const value = (word >>> (this.#at & 7)) & (2 ** width - 1);
    this.#at += width;
    return value;
  }

  #fail(code: 'truncated' | 'trailing' | 'payload', expected: string): never {
    throw new FrameError(code, this.#base + Math.floor(this.#at / 8), `expected ${expected}`);
  }
}

/** The most bits that are written at once: with 7 bits of rest they fit into 31. */
const PUT = 24;

/** The smallest integer b with 2^b >= parameter. */
function widthOf(parameter: number): number {
  let width = 0;
  while (2 ** width < parameter) width++;
  return width;
}
