/**
 * Guava's BloomFilter (Java), as `writeTo` writes and `readFrom` reads it.
 *
 *     0  i8   strategy: 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64
 *     1  u8   k
 *     2  i32  W, the number of words, big-endian
 *     6  W big-endian words of 64 bits; bit i is bit i % 64 of word i / 64
 *
 * Indices range over 64 W, not over the m of the formula. MITZ_64 goes from h1 in steps of h2, the
 * halves of MurmurHash3_x64_128. MITZ_32 does the same with the two halves of h1 and 32 bits, so it
 * addresses at most 2^31 bits and its rate is worse beyond (google/guava#1119).
 *
 * The file does not say how keys became bytes: that is the funnel, which only the Java program
 * knew. Name it when decoding. Without it the filter can be written, merged and measured, and bytes
 * can be looked up. A string or an integer is refused, because a wrong guess would be a silent
 * "no".
 *
 * k is read from the file. Guava 33.4 changed its formula for k (google/guava#1781). `create` uses
 * the new one, and takes `hashes` for the old: max(1, round(m / n · ln 2)).
 */

import { checkAlike } from '../filters/shared/alike.ts';
import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { checkOptions } from '../keys/check-options.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkChoice, checkInteger, checkRate, MAX_BITS } from '../math/checks.ts';
import { murmur3x64 } from './hashes/murmur3.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import {
  keyWords,
  loadInt32,
  loadInt64,
  loadJavaKey,
  loadKey,
  loadUtf16,
  unlikeKey,
} from './shared/foreign-key.ts';
import { type ForeignDecodeOptions, ForeignReader } from './shared/foreign-reader.ts';
import { Modulus } from './shared/modulus.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

export type GuavaStrategy = 'MURMUR128_MITZ_32' | 'MURMUR128_MITZ_64';

/**
 * How a key becomes bytes: `stringFunnel(UTF_8)`, `unencodedCharsFunnel`, `integerFunnel`,
 * `longFunnel`, `byteArrayFunnel`.
 */
export type GuavaFunnel = 'utf8' | 'utf16' | 'int' | 'long' | 'bytes';

/** A string for 'utf8' and 'utf16', an integer for 'int' and 'long', bytes for 'bytes'. */
export type GuavaKey = string | number | bigint | Uint8Array;

export interface GuavaDecodeOptions extends ForeignDecodeOptions {
  readonly funnel?: GuavaFunnel | undefined;
}

export interface GuavaCreateOptions {
  /** The expected number of keys. */
  readonly capacity: number;
  /** Default 0.03, as in Guava. */
  readonly falsePositiveRate?: number;
  readonly funnel: GuavaFunnel;
  /** Default MURMUR128_MITZ_64. */
  readonly strategy?: GuavaStrategy;
  /** Fixes k, from 1 to 255, instead of Guava's formula. */
  readonly hashes?: number;
}

export class GuavaFilter implements ForeignBloomFilter<GuavaKey> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'guava';
  readonly strategy: GuavaStrategy;
  readonly funnel: GuavaFunnel | undefined;
  readonly hashes: number;
  readonly #bits: ForeignBits;
  readonly #modulus: Modulus;

  private constructor(
    strategy: GuavaStrategy,
    hashes: number,
    funnel: GuavaFunnel | undefined,
    bits: ForeignBits,
  ) {
    this.strategy = strategy;
    this.hashes = hashes;
    this.funnel = funnel;
    this.#bits = bits;
    this.#modulus = new Modulus(8 * bits.length);
  }

  /**
   * Makes a filter with the size that `BloomFilter.create(funnel, capacity, falsePositiveRate)`
   * chooses.
   */
  static create(options: GuavaCreateOptions): GuavaFilter {
    checkOptions('GuavaFilter.create', options, CREATE_OPTIONS);
    const { capacity, falsePositiveRate = 0.03, funnel, strategy = 'MURMUR128_MITZ_64' } = options;
    checkInteger('capacity', capacity, 1);
    checkRate('falsePositiveRate', falsePositiveRate);
    const bits = Math.floor((-capacity * Math.log(falsePositiveRate)) / (Math.LN2 * Math.LN2));
    checkInteger('bits', bits, 0, MAX_BITS);
    const best = Math.max(1, Math.round(-Math.log(falsePositiveRate) / Math.LN2));
    return new GuavaFilter(
      checkChoice('strategy', strategy, STRATEGIES),
      checkInteger('hashes', options.hashes ?? best, 1, 255),
      checkChoice('funnel', funnel, FUNNELS),
      ForeignBits.zeros(8 * Math.max(1, Math.ceil(bits / 64)), 'big-endian words'),
    );
  }

  static decode(bytes: Uint8Array, options: GuavaDecodeOptions = {}): GuavaFilter {
    checkOptions('GuavaFilter.decode', options, ['maxBytes', 'funnel']);
    const { funnel } = options;
    if (funnel !== undefined) checkChoice('funnel', funnel, FUNNELS);
    const { strategy, hashes, start, length } = readGuavaHeader(bytes, options);
    return new GuavaFilter(
      strategy,
      hashes,
      funnel,
      ForeignBits.of(bytes, start, length, 'big-endian words'),
    );
  }

  /** Adds a key. Returns true if a bit changed, so that it was certainly absent before. */
  add(key: GuavaKey): boolean {
    return this.#probe(key, true);
  }

  has(key: GuavaKey): boolean {
    return this.#probe(key, false);
  }

  /** Adds all keys of another filter to this one, like Guava's `putAll`. */
  merge(other: GuavaFilter): this {
    checkAlike(this.#isLike(other), 'merge', this, other);
    this.#bits.merge(other.#bits);
    return this;
  }

  /** A new filter with the keys of both. */
  union(other: GuavaFilter): GuavaFilter {
    return this.copy().merge(other);
  }

  copy(): GuavaFilter {
    return new GuavaFilter(this.strategy, this.hashes, this.funnel, this.#bits.copy());
  }

  equals(other: GuavaFilter): boolean {
    return this.#isLike(other) && this.#bits.equals(other.#bits);
  }

  get hash(): string {
    return `murmur3-x64-128/${this.strategy}`;
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
    const bytes = new Uint8Array(HEADER + this.#bits.length);
    const view = new DataView(bytes.buffer);
    view.setInt8(0, STRATEGIES.indexOf(this.strategy));
    view.setUint8(1, this.hashes);
    view.setInt32(2, this.#bits.length / 8);
    this.#bits.writeTo(bytes, HEADER);
    return bytes;
  }

  toString(): string {
    return `GuavaFilter(${this.bits} bits, ${this.hashes} hashes, ${this.strategy}, funnel ${this.funnel ?? 'unknown'})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #isLike(other: GuavaFilter): boolean {
    return (
      other instanceof GuavaFilter &&
      this.bits === other.bits &&
      this.hashes === other.hashes &&
      this.strategy === other.strategy &&
      (this.funnel ?? other.funnel) === (other.funnel ?? this.funnel)
    );
  }

  /** Looks up a key's bits, or sets them; then true means that one changed. */
  #probe(key: GuavaKey, adding: boolean): boolean {
    const length = this.#load(key);
    murmur3x64(keyWords(), length, 0, hash);
    return this.strategy === 'MURMUR128_MITZ_64' ? this.#probe64(adding) : this.#probe32(adding);
  }

  #probe64(adding: boolean): boolean {
    let low = hash[0];
    let high = hash[1];
    return this.#bits.probe(this.hashes, adding, () => {
      const index = this.#modulus.of(high & 0x7fffffff, low);
      const sum = (low + hash[2]) | 0;
      high = (high + hash[3] + (sum >>> 0 < low >>> 0 ? 1 : 0)) | 0;
      low = sum;
      return index;
    });
  }

  #probe32(adding: boolean): boolean {
    let sum = hash[0];
    return this.#bits.probe(this.hashes, adding, () => {
      sum = (sum + hash[1]) | 0;
      return (sum < 0 ? ~sum : sum) % this.bits;
    });
  }

  #load(key: GuavaKey): number {
    switch (this.funnel) {
      case 'utf8':
        if (typeof key === 'string') return loadJavaKey(key);
        break;
      case 'utf16':
        if (typeof key === 'string') return loadUtf16(key);
        break;
      case 'int':
        if (typeof key === 'number') return loadInt32(key);
        break;
      case 'long':
        if (typeof key === 'number' || typeof key === 'bigint') return loadInt64(key);
        break;
      default:
        if (key instanceof Uint8Array) return loadKey(key);
        if (this.funnel === undefined) {
          throw new TypeError(
            `Cannot use the key: expected a funnel, which a Guava file does not name, got none (decode with funnel: ${FUNNELS.join(', ')})`,
          );
        }
    }
    throw unlikeKey(EXPECTED[this.funnel], key);
  }
}

interface GuavaHeader {
  readonly strategy: GuavaStrategy;
  readonly hashes: number;
  /** The offset of the bits, and their number of bytes. */
  readonly start: number;
  readonly length: number;
}

/** @internal Reads and checks everything except the bits. */
export function readGuavaHeader(bytes: Uint8Array, options: ForeignDecodeOptions): GuavaHeader {
  const reader = new ForeignReader('guava', bytes, 'big-endian');
  const ordinal = reader.u8('strategy');
  const strategy = STRATEGIES[ordinal];
  if (strategy === undefined) reader.fail('version', 'strategy 0 or 1', ordinal, 0);
  const hashes = reader.u8('k');
  reader.expect(hashes > 0, 1, 'k of at least 1', hashes);
  const words = reader.i32('word count');
  reader.expect(words > 0 && 64 * words <= MAX_BITS, 4, `1 to ${MAX_BITS / 64} words`, words);
  return { strategy, hashes, start: reader.payload(8 * words, options), length: 8 * words };
}

const STRATEGIES = ['MURMUR128_MITZ_32', 'MURMUR128_MITZ_64'] as const satisfies readonly GuavaStrategy[];
const FUNNELS = ['utf8', 'utf16', 'int', 'long', 'bytes'] as const satisfies readonly GuavaFunnel[];
const CREATE_OPTIONS = ['capacity', 'falsePositiveRate', 'funnel', 'strategy', 'hashes'];
const EXPECTED = {
  utf8: 'a string',
  utf16: 'a string',
  int: 'a number',
  long: 'a number or a bigint',
  bytes: 'a Uint8Array',
};
const HEADER = 6;
const hash = /* @__PURE__ */ new Int32Array(4);
