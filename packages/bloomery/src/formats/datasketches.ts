/**
 * The Bloom filter of Apache DataSketches (Java and C++), as `toByteArray` and `serialize` write
 * it and `heapify` and `deserialize` read it.
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
 * `create` has the size of `BloomFilterBuilder.createByAccuracy`: ceil(-n ln p / ln^2 2) bits,
 * rounded up to longs, and k = ceil(bits / n · ln 2) from the bits before rounding. There the seed
 * is random unless it is given. Here it is 9001, the default of the other DataSketches, because
 * this library has no source of randomness. `add` leaves the count of ones at -1, as `update` does.
 * A filter without keys is written as an empty one.
 *
 * The count of ones. C++ forgets the bits that `update` set when `query_and_update` counts on from
 * there, so a valid file can declare too few. A file that declares more than it has has lost ones,
 * and would answer "no" for keys that are in, so it is refused.
 *
 * -0.0 is a double of its own in Java, and equal to 0.0 in C++. The file does not say which program
 * wrote it, so both are looked up. `addDouble(-0)` adds both, so that neither program misses it.
 */

import { areAlike, checkAlike } from '../filters/shared/alike.ts';
import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { xxh64Words } from '../hashing/xxh64.ts';
import { checkOptions } from '../keys/check-options.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkInteger, checkRate, MAX_BITS, wrongValue } from '../math/checks.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import { keyWords, loadInt64, loadJavaKey, loadKey, unlikeKey } from './shared/foreign-key.ts';
import {
  copyOf,
  type ForeignDecodeOptions,
  ForeignReader,
  limitOf,
  MAX_FOREIGN_HASHES,
} from './shared/foreign-reader.ts';
import { Modulus } from './shared/modulus.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

/** A string, bytes, or an integer, which is a long. */
export type DataSketchesKey = string | Uint8Array | number | bigint;

export interface DataSketchesCreateOptions {
  /** The expected number of keys. */
  readonly capacity: number;
  readonly falsePositiveRate: number;
  /** An unsigned 64-bit integer. Default 9001. */
  readonly seed?: number | bigint;
}

export class DataSketchesFilter implements ForeignBloomFilter<DataSketchesKey> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'datasketches';
  readonly seed: bigint;
  readonly hashes: number;
  readonly #seedLow: number;
  readonly #seedHigh: number;
  readonly #modulus: Modulus;
  /** The most bytes of bits that the first key may allocate. */
  readonly #maxBytes: number;
  #header: Uint8Array;
  /** The bits, or null for an empty filter, which has no bits in the file or here. */
  #bits: ForeignBits | null;

  private constructor(header: Uint8Array, bits: ForeignBits | null, maxBytes: number) {
    const view = new DataView(header.buffer, header.byteOffset);
    this.seed = view.getBigUint64(8, true);
    this.hashes = view.getUint16(4, true);
    this.#seedLow = view.getInt32(8, true);
    this.#seedHigh = view.getInt32(12, true);
    this.#modulus = new Modulus(64 * view.getUint32(16, true));
    this.#header = header;
    this.#bits = bits;
    this.#maxBytes = maxBytes;
  }

  /** Makes a filter with the size that `BloomFilterBuilder.createByAccuracy` chooses. */
  static create(options: DataSketchesCreateOptions): DataSketchesFilter {
    checkOptions('DataSketchesFilter.create', options, ['capacity', 'falsePositiveRate', 'seed']);
    const { capacity, falsePositiveRate, seed = 9001 } = options;
    checkInteger('capacity', capacity, 1);
    checkRate('falsePositiveRate', falsePositiveRate);
    const bits = Math.ceil((-capacity * Math.log(falsePositiveRate)) / (Math.LN2 * Math.LN2));
    checkInteger('bits', bits, 1, MAX_BITS);
    const hashes = Math.max(1, Math.ceil((bits / capacity) * Math.LN2));
    const header = new Uint8Array(EMPTY_HEADER);
    header.set([3, 1, FAMILY, EMPTY]);
    const view = new DataView(header.buffer);
    view.setUint16(4, checkInteger('hashes', hashes, 1, MAX_FOREIGN_HASHES), true);
    view.setBigUint64(8, checkSeed(seed), true);
    view.setUint32(16, Math.ceil(bits / 64), true);
    return new DataSketchesFilter(header, null, Number.POSITIVE_INFINITY);
  }

  static decode(bytes: Uint8Array, options: ForeignDecodeOptions = {}): DataSketchesFilter {
    checkOptions('DataSketchesFilter.decode', options, ['maxBytes']);
    const { start, length, ones } = readDataSketchesHeader(bytes, options);
    const header = copyOf(bytes, 0, start);
    const maxBytes = limitOf(options);
    if (length === 0) return new DataSketchesFilter(header, null, maxBytes);
    const bits = ForeignBits.of(bytes, start, length);
    const found = bits.ones();
    if (ones < -1n || ones > BigInt(found)) {
      const reader = new ForeignReader('datasketches', bytes, 'little-endian');
      reader.fail('payload', `at most ${found} ones, or -1 for no count`, ones, EMPTY_HEADER);
    }
    return new DataSketchesFilter(header, bits, maxBytes);
  }

  /**
   * Adds a key. Returns true if a bit changed, so that it was certainly absent before. The empty
   * string is not added, as in Java and C++.
   */
  add(key: DataSketchesKey): boolean {
    return key === '' ? false : this.#set(loadAny(key));
  }

  /** Adds a double. There 5 and 5.0 are other keys than the long 5. */
  addDouble(value: number): boolean {
    const changed = Object.is(value, -0) && this.addDouble(0);
    return this.#set(loadDouble(value)) || changed;
  }

  has(key: DataSketchesKey): boolean {
    return key === '' ? false : this.#ask(loadAny(key));
  }

  /** Looks up a double in a filter of doubles. There 5 and 5.0 are other keys than the long 5. */
  hasDouble(value: number): boolean {
    if (Object.is(value, -0) && this.hasDouble(0)) return true;
    return this.#ask(loadDouble(value));
  }

  /**
   * Adds all keys of another filter to this one. Both must have the same seed, k and size. As in
   * Java, the ones are counted.
   */
  merge(other: DataSketchesFilter): this {
    checkAlike(areAlike(DataSketchesFilter, this, other), 'merge', this, other);
    if (other.#bits === null) return this;
    const bits = this.#allocate();
    bits.merge(other.#bits);
    this.#count(BigInt(bits.ones()));
    return this;
  }

  /** A new filter with the keys of both, which must have the same seed, k and size. */
  union(other: DataSketchesFilter): DataSketchesFilter {
    return this.copy().merge(other);
  }

  copy(): DataSketchesFilter {
    return new DataSketchesFilter(this.#header.slice(), this.#bits?.copy() ?? null, this.#maxBytes);
  }

  equals(other: DataSketchesFilter): boolean {
    if (!areAlike(DataSketchesFilter, this, other)) return false;
    const [a, b] = [this.#bits, other.#bits];
    return a === null || b === null ? this.onesCount() === other.onesCount() : a.equals(b);
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

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** Looks up the key of `length` bytes that was loaded. */
  #ask(length: number): boolean {
    return this.#bits !== null && this.#probe(this.#bits, length, false);
  }

  /** Adds the key of `length` bytes that was loaded. */
  #set(length: number): boolean {
    const changed = this.#probe(this.#allocate(), length, true);
    this.#count(-1n);
    return changed;
  }

  #probe(bits: ForeignBits, length: number, adding: boolean): boolean {
    xxh64Words(keyWords(), length, this.#seedLow, this.#seedHigh, first);
    xxh64Words(keyWords(), length, first[0], first[1], second);
    let low = first[0];
    let high = first[1];
    return bits.probe(this.hashes, adding, () => {
      const sum = (low + second[0]) | 0;
      high = (high + second[1] + (sum >>> 0 < low >>> 0 ? 1 : 0)) | 0;
      low = sum;
      return this.#modulus.of(high >>> 1, (low >>> 1) | (high << 31));
    });
  }

  /** The bits. An empty filter gets zeros, and the header of one that is not empty. */
  #allocate(): ForeignBits {
    if (this.#bits !== null) return this.#bits;
    const length = this.bits / 8;
    if (length > this.#maxBytes) {
      throw new RangeError(
        `Cannot add a key: expected at most ${this.#maxBytes} bytes of bits, got ${length} (decode with maxBytes)`,
      );
    }
    const header = new Uint8Array(EMPTY_HEADER + 8);
    header.set(this.#header);
    header[0] = 4;
    header[3] &= ~EMPTY;
    this.#header = header;
    this.#bits = ForeignBits.zeros(length);
    return this.#bits;
  }

  /** Writes the number of ones into the header, or -1 for "not counted". */
  #count(ones: bigint): void {
    new DataView(this.#header.buffer, this.#header.byteOffset).setBigInt64(EMPTY_HEADER, ones, true);
  }
}

function loadAny(key: DataSketchesKey): number {
  return typeof key === 'number' || typeof key === 'bigint' ? loadInt64(key) : loadJavaKey(key);
}

function loadDouble(value: number): number {
  if (typeof value !== 'number') throw unlikeKey('a number', value);
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value, true);
  if (Number.isNaN(value)) view.setBigUint64(0, 0x7ff8000000000000n, true); // Java's only NaN
  return loadKey(new Uint8Array(view.buffer));
}

function checkSeed(seed: number | bigint): bigint {
  const exact = typeof seed === 'bigint' || Number.isSafeInteger(seed) ? BigInt(seed) : -1n;
  if (exact < 0n || exact >= 2n ** 64n) throw wrongValue('seed', 'an integer from 0 to 2^64 - 1', seed);
  return exact;
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
