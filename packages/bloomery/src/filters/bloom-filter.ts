/**
 * The Bloom filter (Bloom 1970; survey 2.1): a set as an array of m bits, of which each key sets k.
 *
 * What it promises. `has` answers true for every key that was added, so a "no" is certain. For any
 * other key it answers true with the false positive rate. At capacity that rate is at most the one
 * asked for, even in a filter for a handful of keys: filters are sized by the true rate, which the
 * textbook formula underestimates (math/true-rate.ts), and their indices are not an arithmetic
 * progression (kernel/bits/classic.ts).
 *
 * What it costs. 1.44 log2(1/p) bits per key, whatever the keys are: 9.6 for 1 %, 14.4 for 0.1 %.
 * Each lookup reads up to k words that lie apart. If the filter does not fit in the processor's
 * cache, those are k memory accesses, and `BlockedBloomFilter` is several times faster for a few
 * per cent more bits.
 *
 * Layouts. In 'classic' all k indices range over the whole array. In 'partitioned' each index has
 * its own slice of m/k bits. The partitioned layout is slightly worse for small arrays (survey
 * 2.1), but the k probes of a key never coincide.
 *
 * What it cannot do: delete a key, list its keys, count them exactly, or grow. Two filters can be
 * combined only if they have the same bits, hashes, layout and hash scheme; otherwise an error says
 * what differs.
 */

import { decodeFrame, encodeFrame, type FrameWriter } from '../frames/frame.ts';
import { BLOOM_FRAME } from '../frames/frame-kinds.ts';
import type { HashScheme } from '../hashing/hash-scheme.ts';
import type { KeyBatch } from '../kernel/batches/batch.ts';
import type { KeyHash } from '../kernel/batches/hash-key.ts';
import { foldNeighbours } from '../kernel/bits/bit-operations.ts';
import { BitStore } from '../kernel/bits/bit-store.ts';
import { classicAdd, classicHas, setPlain, setShared } from '../kernel/bits/classic.ts';
import { WASM_POSSIBLE } from '../kernel/wasm/wasm-possible.ts';
import { checkOptions } from '../keys/check-options.ts';
import type { Key } from '../keys/key.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkChoice, checkInteger, MAX_BITS, MAX_HASHES } from '../math/checks.ts';
import { decayOf, rateFromOnes } from '../math/from-ones.ts';
import { BLOOM_LAYOUTS } from '../math/layouts.ts';
import { sizeClassic } from '../math/size-classic.ts';
import { areAlike, checkAlike } from './shared/alike.ts';
import type { Prober } from './shared/batch-probing.ts';
import { BitArray } from './shared/bit-array.ts';
import { FillGauge } from './shared/fill-gauge.ts';
import { type DecodeOptions, FILTER_OPTIONS, type FilterOptions } from './shared/options.ts';
import { openStore, sharedOptions } from './shared/sharing.ts';
import { sliceOf } from './shared/slice-of.ts';

export type BloomLayout = 'classic' | 'partitioned';

export interface BloomFilterOptions extends FilterOptions {
  /** The number of bits, m. From 1 to 2^36; a multiple of `hashes` in the partitioned layout. */
  readonly bits: number;
  /** The number of hashes per key, k. From 1 to 255. */
  readonly hashes: number;
  readonly layout?: BloomLayout;
  /** The number of distinct keys that the filter is meant for; only the overfull policy uses it. */
  readonly capacity?: number | undefined;
}

export interface BloomCapacityOptions extends FilterOptions {
  readonly capacity: number;
  /** The false positive rate at capacity, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
  readonly layout?: BloomLayout;
  /** Fixes k instead of choosing the best one. */
  readonly hashes?: number;
  /** Upper limit of k, for fewer probes and more bits. */
  readonly maxHashes?: number;
  /** How often `halve` must be possible: rounds the bits up to a multiple of 2^halvings. */
  readonly halvings?: number;
}

export class BloomFilter {
  declare readonly bits: number;
  declare readonly hashes: number;
  declare readonly layout: BloomLayout;
  declare readonly capacity: number | undefined;
  declare readonly scheme: HashScheme;
  readonly #range: number;
  readonly #array: BitArray;

  /** Sized by bits and hashes; `BloomFilter.forCapacity` sizes by capacity and rate. */
  constructor(options: BloomFilterOptions);
  /** @internal */
  constructor(options: BloomFilterOptions, store: BitStore, scheme: HashScheme);
  constructor(options: BloomFilterOptions, store?: BitStore, scheme?: HashScheme) {
    checkOptions('BloomFilter', options, OPTIONS);
    const { bits, hashes, layout = 'classic', capacity, overfull } = options;
    this.bits = checkInteger('bits', bits, 1, MAX_BITS);
    this.hashes = checkInteger('hashes', hashes, 1, MAX_HASHES);
    this.layout = checkChoice('layout', layout, BLOOM_LAYOUTS);
    this.capacity = capacity;
    const stride = sliceOf(bits, hashes, layout, 'bits');
    this.#range = stride || bits;
    const [opened, own] = store && scheme ? [store, scheme] : openStore(bits, options);
    this.scheme = own;
    this.#array = new BitArray(
      opened,
      own,
      prober(this.#range, stride, hashes, own, opened.shared),
      new FillGauge(this, decayOf(stride === 0 ? hashes : 1, 1 / this.#range), overfull),
    );
    // A subclass may add fields of its own.
    if (new.target === BloomFilter) Object.freeze(this);
  }

  /** Makes the smallest filter that keeps the rate with `capacity` distinct keys in it. */
  static forCapacity(options: BloomCapacityOptions): BloomFilter {
    checkOptions('BloomFilter.forCapacity', options, CAPACITY_OPTIONS);
    const { falsePositiveRate, maxHashes, halvings = 0, ...rest } = options;
    const multipleOf = 2 ** checkInteger('halvings', halvings, 0, 30);
    const { bits, hashes } = sizeClassic({ ...options, multipleOf });
    return new BloomFilter({ ...rest, bits, hashes });
  }

  /** Adds a key. Returns true if it was certainly absent before, that is, if a bit changed. */
  add(key: Key): boolean {
    return this.#array.add(key);
  }

  /** True if the key may have been added, false if it certainly was not. */
  has(key: Key): boolean {
    return this.#array.has(key);
  }

  /** Adds a key by its hash; see `hashKey`. */
  addHash(hash: KeyHash): boolean {
    return this.#array.addHash(hash);
  }

  /** `has` by the key's hash; see `hashKey`. */
  hasHash(hash: KeyHash): boolean {
    return this.#array.hasHash(hash);
  }

  /** Adds many keys, faster than one by one. Returns how many were certainly absent before. */
  addMany(keys: KeyBatch): number {
    return this.#array.addMany(keys);
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    return this.#array.hasMany(keys);
  }

  /** Removes all keys. */
  clear(): void {
    this.#array.clear();
  }

  /** An independent filter with the same keys, in memory that is not shared. */
  copy(): BloomFilter {
    return new BloomFilter(this.#parameters(), this.#array.store.copy(), this.scheme);
  }

  /** Adds all keys of another filter to this one. */
  merge(other: BloomFilter): this {
    this.#array.merge(this.#like(other, 'merge'));
    return this;
  }

  /**
   * A new filter with the keys of both, the same as if all of them had been added to one filter.
   */
  union(other: BloomFilter): BloomFilter {
    return this.copy().merge(other);
  }

  /**
   * A new filter that answers "maybe" for every key that both may have. Its bits are a superset of
   * the bits of a filter built from the common keys, so it has more false positives than that one.
   * It never has more than either of the two.
   */
  intersection(other: BloomFilter): BloomFilter {
    const copy = this.copy();
    copy.#array.intersect(this.#like(other, 'intersect'));
    return copy;
  }

  /** Whether the other filter has every bit of this one. If not, it lacks some key of this one. */
  isSubsetOf(other: BloomFilter): boolean {
    return this.#array.isSubsetOf(this.#like(other, 'compare'));
  }

  /** Whether both filters have the same parameters and the same bits. */
  equals(other: BloomFilter): boolean {
    return areAlike(BloomFilter, this, other) && this.isSubsetOf(other) && other.isSubsetOf(this);
  }

  /**
   * A filter with the same keys and half the bits, halved `times` times (survey 2.4). It has the
   * higher false positive rate of a filter of that size. The number of bits (in the partitioned
   * layout: of bits per slice) must be a multiple of 2^times.
   */
  halve(times = 1): BloomFilter {
    checkInteger('times', times, 0, 36);
    const factor = 2 ** times;
    if (this.#range % factor !== 0) {
      throw new RangeError(`Cannot halve: expected a multiple of ${factor} bits, got ${this.#range}`);
    }
    let { words } = this.#array.store;
    let { bits } = this;
    for (let i = 0; i < times; i++, bits /= 2) {
      // No pair of neighbours crosses a border of slices, because each slice has an even number of
      // bits.
      const half = new Uint32Array(Math.ceil(bits / 64));
      foldNeighbours(words, bits, half);
      words = half;
    }
    const store = new BitStore(times === 0 ? words.slice() : words);
    return new BloomFilter({ ...this.#parameters(), bits }, store, this.scheme);
  }

  /** The number of bits that are 1. Reads the whole array. */
  onesCount(): number {
    return this.#array.onesCount();
  }

  /** The share of bits that are 1, about one half at capacity. Reads the whole array. */
  fill(): number {
    return this.onesCount() / this.bits;
  }

  /**
   * The number of bits that are 1 in both: the inner product of survey 2.4, a similarity measure.
   */
  sharedOnesCount(other: BloomFilter): number {
    return this.#array.sharedOnesCount(this.#like(other, 'compare'));
  }

  /**
   * Estimates how many distinct keys were added, from the number of zeros (survey 2.4). Infinity if
   * no zero is left. `sizeEstimate` also gives an interval.
   */
  estimatedSize(): number {
    return this.#array.gauge.size();
  }

  /** Estimates how many distinct keys the union has. `unionEstimate` also gives an interval. */
  estimatedUnionSize(other: BloomFilter): number {
    return this.#array.gauge.size(this.onesCount() + other.onesCount() - this.sharedOnesCount(other));
  }

  /**
   * Estimates how many keys the two have in common (survey 2.4). `intersectionEstimate` also gives
   * an interval.
   */
  estimatedIntersectionSize(other: BloomFilter): number {
    return this.estimatedSize() + other.estimatedSize() - this.estimatedUnionSize(other);
  }

  /** Estimates the current false positive rate from the share of bits that are 1. */
  estimatedFalsePositiveRate(): number {
    return rateFromOnes(this.bits, this.onesCount(), this.hashes);
  }

  /** The bytes that the bits take in memory. */
  get byteLength(): number {
    return this.#array.store.wordCount * 4;
  }

  /** The filter as a frame: bytes to save or send, read back by `BloomFilter.decode` anywhere. */
  encode(): Uint8Array<ArrayBuffer>;
  /** @internal */
  encode<T>(write: FrameWriter<T>): T;
  encode(write: FrameWriter<unknown> = encodeFrame): unknown {
    return write(BLOOM_FRAME, {
      variant: BLOOM_LAYOUTS.indexOf(this.layout),
      scheme: this.scheme,
      parameters: [this.bits, this.hashes, this.capacity ?? 0],
      payload: this.#array.store,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed filter needs its key. */
  static decode(frame: Uint8Array, { key, ...options }: DecodeOptions = {}): BloomFilter {
    checkOptions('BloomFilter.decode', options, ['shared', 'overfull']);
    const { variant, parameters, payload, scheme } = decodeFrame(BLOOM_FRAME, frame, key);
    const [bits, hashes, capacity] = parameters;
    const store = BitStore.allocate(bits, options.shared);
    store.setBytes(payload);
    const layout = BLOOM_LAYOUTS[variant];
    return new BloomFilter(
      { ...options, bits, hashes, layout, capacity: capacity || undefined },
      store,
      scheme,
    );
  }

  /**
   * Options that open the same filter, on the same bits, in another thread; see
   * filters/shared/sharing.ts.
   */
  share(): BloomFilterOptions {
    return { ...this.#parameters(), ...sharedOptions(this.#array.store, this.scheme) };
  }

  toString(): string {
    return `BloomFilter(${this.bits} bits, ${this.hashes} hashes, ${this.layout}, ${this.scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #parameters(): BloomFilterOptions {
    const { bits, hashes, layout, capacity } = this;
    return { bits, hashes, layout, capacity, overfull: this.#array.gauge.policy };
  }

  /** The bits of another filter. Throws if its parameters differ. */
  #like(other: BloomFilter, verb: string): BitArray {
    checkAlike(areAlike(BloomFilter, this, other), verb, this, other);
    return other.#array;
  }
}

const OPTIONS = ['bits', 'hashes', 'layout', 'capacity', ...FILTER_OPTIONS];
const CAPACITY_OPTIONS = [
  'capacity',
  'falsePositiveRate',
  'layout',
  'hashes',
  'maxHashes',
  'halvings',
  ...FILTER_OPTIONS,
];

function prober(range: number, stride: number, k: number, scheme: HashScheme, shared: boolean): Prober {
  const set = shared ? setShared : setPlain;
  return {
    has: (words, low, high) => classicHas(words, low, high, range, stride, k),
    add: (words, low, high) => classicAdd(words, low, high, range, stride, k, set),
    inWasm: WASM_POSSIBLE
      ? {
          hasKey: (wasm, key, address) => wasm.classicHasKey(key, scheme, address, range, stride, k),
          has: (wasm, count, address) => wasm.classicHas(count, address, range, stride, k),
          add: (wasm, count, address) => wasm.classicAdd(count, address, range, stride, k),
        }
      : null,
  };
}
