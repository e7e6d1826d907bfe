/**
 * The bits of a foreign filter, kept in the byte order of its file, so that loading and writing are
 * copies and lose nothing. There are two orders: bytes (bit i is bit i % 8 of byte i / 8, which is
 * also the order of little-endian words) and big-endian words of 64 bits, where the eight bytes of
 * each word are reversed.
 */

import { countOnes, orInto } from '../../kernel/bits/bit-operations.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { decayOf, rateFromOnes, sizeFromOnes } from '../../math/from-ones.ts';

export type BitOrder = 'bytes' | 'big-endian words';

export class ForeignBits {
  readonly order: BitOrder;
  /** The length in bytes, as in the file. */
  readonly length: number;
  readonly #words: Uint32Array;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #swapped: boolean;

  private constructor(order: BitOrder, length: number, words: Uint32Array) {
    this.order = order;
    this.length = length;
    this.#words = words;
    this.#bytes = new Uint8Array(words.buffer as ArrayBuffer);
    this.#swapped = order === 'big-endian words';
  }

  /** Makes an array of zeros. */
  static zeros(length: number, order: BitOrder = 'bytes'): ForeignBits {
    return new ForeignBits(order, length, BitStore.allocate(8 * length).words);
  }

  /** A copy of `length` bytes of a file. */
  static of(bytes: Uint8Array, start: number, length: number, order: BitOrder = 'bytes'): ForeignBits {
    const bits = ForeignBits.zeros(length, order);
    bits.#bytes.set(bytes.subarray(start, start + length));
    return bits;
  }

  /** Whether a bit is 1. False beyond the end. */
  has(index: number): boolean {
    return ((this.#bytes[this.#byteOf(index)] >>> (index & 7)) & 1) === 1;
  }

  /** Sets a bit. Returns true if it was 0. */
  set(index: number): boolean {
    const at = this.#byteOf(index);
    const before = this.#bytes[at];
    const after = before | (1 << (index & 7));
    this.#bytes[at] = after;
    return after !== before;
  }

  /** A byte, as in the file. */
  byte(at: number): number {
    return this.#bytes[at];
  }

  ones(): number {
    return countOnes(this.#words);
  }

  /**
   * Estimates how many keys set the ones, with `hashes` indices each in `range` bits (survey 2.4).
   */
  estimatedSize(range: number, hashes: number): number {
    return sizeFromOnes(range, this.ones(), decayOf(hashes, 1 / range));
  }

  /** Estimates the false positive rate. A file may have more ones than bits that are asked for. */
  estimatedRate(range: number, hashes: number): number {
    return rateFromOnes(range, Math.min(range, this.ones()), hashes);
  }

  /**
   * Asks for the bits of a key, or sets them. `indexAt` is called with 0, 1, … until the answer is
   * known. Asking returns whether all are ones; setting, whether one of them was not.
   */
  probe(hashes: number, adding: boolean, indexAt: (i: number) => number): boolean {
    let changed = false;
    for (let i = 0; i < hashes; i++) {
      const index = indexAt(i);
      if (adding) changed = this.set(index) || changed;
      else if (!this.has(index)) return false;
    }
    return adding ? changed : true;
  }

  /** The number of ones at indices from `from` on. A valid file has none there. */
  onesFrom(from: number): number {
    let count = 0;
    for (let index = from; index < 8 * this.length; index++) if (this.has(index)) count++;
    return count;
  }

  merge(other: ForeignBits): void {
    orInto(this.#words, other.#words, false);
  }

  clear(): void {
    this.#words.fill(0);
  }

  copy(): ForeignBits {
    return new ForeignBits(this.order, this.length, this.#words.slice());
  }

  equals(other: ForeignBits): boolean {
    return this.length === other.length && this.#words.every((word, i) => word === other.#words[i]);
  }

  /** Writes the bits as in the file. */
  writeTo(target: Uint8Array, at: number): void {
    target.set(this.#bytes.subarray(0, this.length), at);
  }

  /** Stores some of the bytes of a file. */
  put(at: number, bytes: Uint8Array): void {
    this.#bytes.set(bytes, at);
  }

  /** A copy of some of the bytes. */
  slice(start: number, end: number): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(start, end);
  }

  #byteOf(index: number): number {
    const at = Math.floor(index / 8);
    return this.#swapped ? at + 7 - 2 * (at & 7) : at;
  }
}
