/**
 * Spark's BloomFilter (`df.stat.bloomFilter`, runtime join filters), as `writeTo` writes and
 * `readFrom` reads it.
 *
 *     version 1  i32 1 | i32 k | i32 words            | words of 64 bits
 *     version 2  i32 2 | i32 k | i32 seed | i32 words | words of 64 bits  (the default since Spark 4.1)
 *
 * Everything is big-endian; bit i is bit i % 64 of word i / 64, and indices range over all of them.
 * h1 and h2 are Spark's 32-bit Murmur3 under the seed (version 1: 0) and under h1. Version 1
 * computes indices with 32 bits, so it reaches only 2^31 bits and its rate is worse beyond
 * (SPARK-47547). Version 2 uses 64 bits.
 *
 * Strings are UTF-8 as Java encodes it, integers are longs.
 *
 * `create` makes version 2 with seed 0, as Spark 4.1 does. Earlier Sparks read version 1 only. The
 * size is that of `BloomFilter.create(expectedNumItems, fpp)`: floor(-n ln p / ln^2 2) bits,
 * rounded up to words, and k from the bits before rounding.
 */

import { areAlike, checkAlike } from '../filters/shared/alike.ts';
import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { checkOptions } from '../keys/check-options.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkInteger, checkRate, MAX_BITS, wrongValue } from '../math/checks.ts';
import { sparkMurmur3 } from './hashes/murmur3.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import { keyWords, loadInt64, loadJavaKey } from './shared/foreign-key.ts';
import { type ForeignDecodeOptions, ForeignReader, MAX_FOREIGN_HASHES } from './shared/foreign-reader.ts';
import { add, r, set } from './shared/int64.ts';
import { Modulus } from './shared/modulus.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

/** A string, bytes (`putBinary`), or an integer (`putLong`). */
export type SparkKey = string | Uint8Array | number | bigint;

export interface SparkCreateOptions {
  /** The expected number of keys. */
  readonly capacity: number;
  /** Default 0.03, as in Spark. */
  readonly falsePositiveRate?: number;
  /** Default 2, which needs Spark 4.1 or later. */
  readonly version?: 1 | 2;
  /** A 32-bit signed integer, of version 2 only. Default 0, as in Spark. */
  readonly seed?: number;
}

export class SparkFilter implements ForeignBloomFilter<SparkKey> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'spark';
  readonly version: 1 | 2;
  readonly seed: number;
  readonly hashes: number;
  readonly #bits: ForeignBits;
  readonly #modulus: Modulus;

  private constructor({ version, seed, hashes }: SparkHeader, bits: ForeignBits) {
    this.version = version;
    this.seed = seed;
    this.hashes = hashes;
    this.#bits = bits;
    this.#modulus = new Modulus(8 * bits.length);
  }

  /** Makes a filter of the size that `BloomFilter.create(capacity, falsePositiveRate)` chooses. */
  static create(options: SparkCreateOptions): SparkFilter {
    checkOptions('SparkFilter.create', options, ['capacity', 'falsePositiveRate', 'version', 'seed']);
    const { capacity, falsePositiveRate = 0.03, version = 2, seed = 0 } = options;
    checkInteger('capacity', capacity, 1);
    checkRate('falsePositiveRate', falsePositiveRate);
    if (version !== 1 && version !== 2) throw wrongValue('version', '1 or 2', version);
    checkInteger('seed', seed, version === 1 ? 0 : -(2 ** 31), version === 1 ? 0 : 2 ** 31 - 1);
    const bits = Math.floor((-capacity * Math.log(falsePositiveRate)) / (Math.LN2 * Math.LN2));
    checkInteger('bits', bits, 1, MAX_BITS); // Spark refuses a rate that needs no bits
    const hashes = Math.max(1, Math.round((bits / capacity) * Math.LN2));
    return new SparkFilter(
      { version, seed, hashes },
      ForeignBits.zeros(8 * Math.ceil(bits / 64), 'big-endian words'),
    );
  }

  static decode(bytes: Uint8Array, options: ForeignDecodeOptions = {}): SparkFilter {
    checkOptions('SparkFilter.decode', options, ['maxBytes']);
    const header = readSparkHeader(bytes, options);
    return new SparkFilter(header, ForeignBits.of(bytes, header.start, header.length, 'big-endian words'));
  }

  /** Adds a key. Returns true if a bit changed, so that it was certainly absent before. */
  add(key: SparkKey): boolean {
    return this.#probe(key, true);
  }

  has(key: SparkKey): boolean {
    return this.#probe(key, false);
  }

  /** Adds all keys of another filter to this one, like `mergeInPlace`. */
  merge(other: SparkFilter): this {
    checkAlike(areAlike(SparkFilter, this, other), 'merge', this, other);
    this.#bits.merge(other.#bits);
    return this;
  }

  /** A new filter with the keys of both. */
  union(other: SparkFilter): SparkFilter {
    return this.copy().merge(other);
  }

  copy(): SparkFilter {
    return new SparkFilter(this, this.#bits.copy());
  }

  equals(other: SparkFilter): boolean {
    return areAlike(SparkFilter, this, other) && this.#bits.equals(other.#bits);
  }

  get hash(): string {
    return `spark-murmur3/${this.seed} version ${this.version}`;
  }

  get bits(): number {
    return this.#modulus.m;
  }

  get byteLength(): number {
    return this.#bits.length;
  }

  onesCount(): number {
    return this.#bits.ones();
  }

  estimatedSize(): number {
    return this.#bits.estimatedSize(this.bits, this.hashes);
  }

  estimatedFalsePositiveRate(): number {
    return this.#bits.estimatedRate(this.bits, this.hashes);
  }

  encode(): Uint8Array<ArrayBuffer> {
    const fields = [this.version, this.hashes, this.seed, this.#bits.length / 8];
    if (this.version === 1) fields.splice(2, 1);
    const bytes = new Uint8Array(4 * fields.length + this.#bits.length);
    const view = new DataView(bytes.buffer);
    for (const [i, field] of fields.entries()) view.setInt32(4 * i, field);
    this.#bits.writeTo(bytes, 4 * fields.length);
    return bytes;
  }

  toString(): string {
    return `SparkFilter(version ${this.version}, ${this.bits} bits, ${this.hashes} hashes, seed ${this.seed})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** Looks up a key's bits, or sets them; then true means that one changed. */
  #probe(key: SparkKey, adding: boolean): boolean {
    const integer = typeof key === 'number' || typeof key === 'bigint';
    const length = integer ? loadInt64(key) : loadJavaKey(key);
    const h1 = sparkMurmur3(keyWords(), length, this.seed);
    const h2 = sparkMurmur3(keyWords(), length, h1);
    return this.version === 1 ? this.#walk32(h1, h2, adding) : this.#walk64(h1, h2, adding);
  }

  #walk32(h1: number, h2: number, adding: boolean): boolean {
    let sum = h1;
    return this.#bits.probe(this.hashes, adding, () => {
      sum = (sum + h2) | 0;
      return (sum < 0 ? ~sum : sum) % this.bits;
    });
  }

  #walk64(h1: number, h2: number, adding: boolean): boolean {
    // h1 (2^31 - 1), as h1 2^31 - h1.
    set(0, h1 << 31, h1 >> 1);
    add(0, -h1, h1 > 0 ? -1 : 0);
    return this.#bits.probe(this.hashes, adding, () => {
      add(0, h2, h2 >> 31);
      const flip = r[1] >> 31; // all ones if negative
      return this.#modulus.of(r[1] ^ flip, r[0] ^ flip);
    });
  }
}

interface SparkHeader {
  readonly version: 1 | 2;
  readonly seed: number;
  readonly hashes: number;
}

/** @internal Reads and checks everything except the bits. */
export function readSparkHeader(
  bytes: Uint8Array,
  options: ForeignDecodeOptions,
): SparkHeader & { readonly start: number; readonly length: number } {
  const reader = new ForeignReader('spark', bytes, 'big-endian');
  const version = reader.i32('version');
  if (version !== 1 && version !== 2) return reader.fail('version', 'version 1 or 2', version, 0);
  const hashes = reader.i32('k');
  reader.expect(hashes > 0 && hashes <= MAX_FOREIGN_HASHES, 4, `k from 1 to ${MAX_FOREIGN_HASHES}`, hashes);
  const seed = version === 2 ? reader.i32('seed') : 0;
  const words = reader.i32('word count');
  reader.expect(words > 0 && 64 * words <= MAX_BITS, 4, `1 to ${MAX_BITS / 64} words`, words);
  return { version, seed, hashes, start: reader.payload(8 * words, options), length: 8 * words };
}
