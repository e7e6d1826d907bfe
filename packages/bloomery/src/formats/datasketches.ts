/**
 * The Bloom filter of Apache DataSketches (Java and C++), as `toByteArray` and `serialize` write
 * it. Read only.
 *
 *     0   u8   longs before the bits: 3 if empty, else 4
 *     1   u8   version: 1;  u8 family: 21;  u8 flags: 4 if empty
 *     4   u16  k, u16 0
 *     8   u64  seed
 *     16  u32  length of the bits in longs, u32 0; here an empty filter ends
 *     24  i64  number of ones, or -1 if they were not counted; C++ may write too few, see below
 *     32       the bits; bit i is bit i % 8 of byte i / 8
 *
 * Everything is little-endian. h0 is XXH64 under the seed, h1 under h0; index i from 1 to k is (h0
 * + i h1 mod 2^64) / 2 mod m. A string is UTF-8 as Java encodes it, and the empty string is in no
 * filter. An integer is a long, and `hasDouble` looks up a double. The seed is random unless the
 * program gave one, so two filters can rarely be combined.
 *
 * The count of ones. C++ forgets the bits that `update` set when `query_and_update` counts on from
 * there, so a valid file can declare too few. A file that declares more than it has has lost ones,
 * and would answer "no" for keys that are in, so it is refused.
 *
 * -0.0 is a double of its own in Java, and equal to 0.0 in C++. The file does not say which program
 * wrote it, so both are looked up.
 */

import { areAlike, checkAlike } from '../filters/shared/alike.ts';
import { checkOptions } from '../filters/shared/options.ts';
import { xxh64Words } from '../hashing/xxh64.ts';
import { MAX_BITS } from '../math/checks.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import { keyWords, loadInt64, loadJavaKey, loadKey, unlikeKey } from './shared/foreign-key.ts';
import {
  copyOf,
  type ForeignDecodeOptions,
  ForeignReader,
  MAX_FOREIGN_HASHES,
} from './shared/foreign-reader.ts';
import { Modulus } from './shared/modulus.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

/** A string, bytes, or an integer, which is a long. */
export type DataSketchesKey = string | Uint8Array | number | bigint;

export class DataSketchesFilter implements ForeignBloomFilter<DataSketchesKey> {
  readonly format = 'datasketches';
  readonly seed: bigint;
  readonly hashes: number;
  readonly #seedLow: number;
  readonly #seedHigh: number;
  readonly #header: Uint8Array;
  readonly #modulus: Modulus;
  /** The bits, or null for an empty filter, which has no bits in the file or here. */
  readonly #bits: ForeignBits | null;

  private constructor(header: Uint8Array, bits: ForeignBits | null) {
    const view = new DataView(header.buffer, header.byteOffset);
    this.seed = view.getBigUint64(8, true);
    this.hashes = view.getUint16(4, true);
    this.#seedLow = view.getInt32(8, true);
    this.#seedHigh = view.getInt32(12, true);
    this.#modulus = new Modulus(64 * view.getUint32(16, true));
    this.#header = header;
    this.#bits = bits;
  }

  static decode(bytes: Uint8Array, options: ForeignDecodeOptions = {}): DataSketchesFilter {
    checkOptions('DataSketchesFilter.decode', options, ['maxBytes']);
    const { start, length, ones } = readDataSketchesHeader(bytes, options);
    const header = copyOf(bytes, 0, start);
    if (length === 0) return new DataSketchesFilter(header, null);
    const bits = ForeignBits.of(bytes, start, length);
    const found = bits.ones();
    if (ones < -1n || ones > BigInt(found)) {
      const reader = new ForeignReader('datasketches', bytes, 'little-endian');
      reader.fail('payload', `at most ${found} ones, or -1 for no count`, ones, EMPTY_HEADER);
    }
    return new DataSketchesFilter(header, bits);
  }

  has(key: DataSketchesKey): boolean {
    if (key === '') return false;
    return this.#ask(typeof key === 'number' || typeof key === 'bigint' ? loadInt64(key) : loadJavaKey(key));
  }

  /** Looks up a double in a filter of doubles. There 5 and 5.0 are other keys than the long 5. */
  hasDouble(value: number): boolean {
    if (typeof value !== 'number') throw unlikeKey('a number', value);
    if (Object.is(value, -0) && this.hasDouble(0)) return true;
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value, true);
    if (Number.isNaN(value)) view.setBigUint64(0, 0x7ff8000000000000n, true); // Java's only NaN
    return this.#ask(loadKey(new Uint8Array(view.buffer)));
  }

  /** A new filter with the keys of both, which must have the same seed, k and size. */
  union(other: DataSketchesFilter): DataSketchesFilter {
    checkAlike(areAlike(DataSketchesFilter, this, other), 'merge', this, other);
    if (this.#bits === null) return other;
    const bits = this.#bits.copy();
    if (other.#bits !== null) bits.merge(other.#bits);
    const header = this.#header.slice();
    new DataView(header.buffer).setBigInt64(EMPTY_HEADER, BigInt(bits.ones()), true);
    return new DataSketchesFilter(header, bits);
  }

  get hash(): string {
    return `xxh64/${this.seed.toString(16)} datasketches`;
  }

  get bits(): number {
    return this.#modulus.m;
  }

  get byteLength(): number {
    return this.#bits?.length ?? 0;
  }

  onesCount(): number {
    return this.#bits?.ones() ?? 0;
  }

  estimatedSize(): number {
    return this.#bits?.estimatedSize(this.bits, this.hashes) ?? 0;
  }

  estimatedFalsePositiveRate(): number {
    return this.#bits?.estimatedRate(this.bits, this.hashes) ?? 0;
  }

  encode(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#header.length + this.byteLength);
    bytes.set(this.#header);
    this.#bits?.writeTo(bytes, this.#header.length);
    return bytes;
  }

  toString(): string {
    return `DataSketchesFilter(${this.bits} bits, ${this.hashes} hashes, seed ${this.seed})`;
  }

  /** Looks up the key of `length` bytes that was loaded. */
  #ask(length: number): boolean {
    if (this.#bits === null) return false;
    xxh64Words(keyWords(), length, this.#seedLow, this.#seedHigh, first);
    xxh64Words(keyWords(), length, first[0], first[1], second);
    let low = first[0];
    let high = first[1];
    return this.#bits.probe(this.hashes, false, () => {
      const sum = (low + second[0]) | 0;
      high = (high + second[1] + (sum >>> 0 < low >>> 0 ? 1 : 0)) | 0;
      low = sum;
      return this.#modulus.of(high >>> 1, (low >>> 1) | (high << 31));
    });
  }
}

/** @internal Reads and checks everything except the bits. `length` is 0 for an empty filter. */
export function readDataSketchesHeader(
  bytes: Uint8Array,
  options: ForeignDecodeOptions,
): { readonly start: number; readonly length: number; readonly ones: bigint } {
  const reader = new ForeignReader('datasketches', bytes, 'little-endian');
  const preamble = reader.u8('preamble');
  reader.expect(preamble === 3 || preamble === 4, 1, 'a preamble of 3 or 4 longs', preamble);
  const version = reader.u8('version');
  if (version !== 1) reader.fail('version', 'version 1', version, 1);
  const family = reader.u8('family');
  if (family !== FAMILY) reader.fail('not-this-format', `family ${FAMILY}, Bloom filters`, family, 2);
  const empty = (reader.u8('flags') & EMPTY) !== 0;
  const hashes = reader.u16('k');
  reader.expect(hashes > 0 && hashes <= MAX_FOREIGN_HASHES, 2, `k from 1 to ${MAX_FOREIGN_HASHES}`, hashes);
  reader.u16('padding');
  reader.u64('seed');
  const longs = reader.u32('length');
  reader.expect(longs > 0 && 64 * longs <= MAX_BITS, 4, `1 to ${MAX_BITS / 64} longs`, longs);
  reader.u32('padding');
  if (empty) return { start: reader.payload(0, options), length: 0, ones: 0n };
  const ones = BigInt.asIntN(64, reader.u64('ones'));
  return { start: reader.payload(8 * longs, options), length: 8 * longs, ones };
}

const FAMILY = 21;
const EMPTY = 4;
const EMPTY_HEADER = 24;
const first = /* @__PURE__ */ new Int32Array(2);
const second = /* @__PURE__ */ new Int32Array(2);
