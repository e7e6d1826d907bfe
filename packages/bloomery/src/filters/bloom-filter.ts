/**
 * The Bloom filter (Bloom 1970; survey 2.1): a set as an array of m bits, of which each key sets k.
 *
 * What it promises. `has` answers true for every key that was added: a "no" is certain. For any other key it
 * answers true with the false positive rate, which at capacity is at most the one asked for, also for filters
 * of a handful of keys: they are sized by the true rate, which the textbook formula underestimates
 * (math/true-rate.ts), and their indices are not an arithmetic progression (kernel/bits/classic.ts).
 *
 * What it costs. 1.44 log2(1/p) bits per key: 9.6 for 1 %, 14.4 for 0.1 %, whatever the keys are. Each lookup
 * reads up to k words that lie apart; beyond the processor's cache those are k memory accesses, and
 * `BlockedBloomFilter` is several times faster for a few per cent more bits.
 *
 * Layouts. 'classic': all k indices range over the whole array. 'partitioned': each has a slice of m/k bits of
 * its own; slightly worse for small arrays (survey 2.1), and the k probes of a key never coincide.
 *
 * What it cannot do: forget a key, list its keys, count them exactly, grow. Two filters can be combined only
 * if they have the same bits, hashes, layout and hash scheme; everything else is an error that says so.
 */

import { decodeFrame, encodeFrame, type FrameWriter } from '../frames/frame.ts';
import { BLOOM_FRAME, BLOOM_LAYOUTS } from '../frames/frame-kinds.ts';
import { checkSameScheme, type HashScheme } from '../hashing/hash-scheme.ts';
import type { KeyBatch } from '../kernel/batches/batch.ts';
import { hashInto, hashOut, type KeyHash } from '../kernel/batches/hash-key.ts';
import {
  andInto,
  countOnes,
  countSharedOnes,
  foldNeighbours,
  isSubset,
  orInto,
} from '../kernel/bits/bit-operations.ts';
import { BitStore } from '../kernel/bits/bit-store.ts';
import { classicAdd, classicHas, setPlain, setShared } from '../kernel/bits/classic.ts';
import { WASM_POSSIBLE } from '../kernel/wasm/wasm-possible.ts';
import type { Key } from '../keys/key.ts';
import { checkChoice, checkInteger, MAX_BITS } from '../math/checks.ts';
import { sizeClassic } from '../math/size-classic.ts';
import { addBatch, hasBatch, hasKeyInWasm, type Prober } from './shared/batch-probing.ts';
import { unlikeFilters } from './shared/compatibility.ts';
import {
  checkOptions,
  checkPolicy,
  type DecodeOptions,
  FILTER_OPTIONS,
  type FilterOptions,
} from './shared/options.ts';
import { OverfullGuard } from './shared/overfull.ts';
import { openStore, sharedOptions } from './shared/sharing.ts';
import { decayOf, sizeFromOnes } from './shared/zero-decay.ts';

export type BloomLayout = 'classic' | 'partitioned';

export interface BloomFilterOptions extends FilterOptions {
  /** m. From 1 to 2^36; a multiple of `hashes` in the partitioned layout. */
  readonly bits: number;
  /** k. From 1 to 255. */
  readonly hashes: number;
  readonly layout?: BloomLayout;
  /** The number of distinct keys it is meant for; only the overfull policy uses it. */
  readonly capacity?: number | undefined;
}

export interface BloomCapacityOptions extends FilterOptions {
  readonly capacity: number;
  /** The rate at capacity, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
  readonly layout?: BloomLayout;
  /** Fixes k instead of choosing the best. */
  readonly hashes?: number;
  /** Limits k: fewer probes, more bits. */
  readonly maxHashes?: number;
  /** How often the filter shall be able to halve: rounds the bits up to a multiple of 2^halvings. */
  readonly halvings?: number;
}

export class BloomFilter {
  readonly bits: number;
  readonly hashes: number;
  readonly layout: BloomLayout;
  readonly capacity: number | undefined;
  readonly scheme: HashScheme;
  readonly #range: number;
  readonly #stride: number;
  readonly #decay: number;
  readonly #store: BitStore;
  readonly #prober: Prober;
  readonly #guard: OverfullGuard;
  /** All that two filters must have in common to be combined. */
  readonly #text: string;

  /** By bits and hashes. By capacity and rate: `BloomFilter.forCapacity`. */
  constructor(options: BloomFilterOptions);
  /** @internal */
  constructor(options: BloomFilterOptions, store: BitStore, scheme: HashScheme);
  constructor(options: BloomFilterOptions, store?: BitStore, scheme?: HashScheme) {
    checkOptions('BloomFilter', options, OPTIONS);
    const { bits, hashes, layout = 'classic', capacity, overfull = 'allow' } = options;
    this.bits = checkInteger('bits', bits, 1, MAX_BITS);
    this.hashes = checkInteger('hashes', hashes, 1, MAX_HASHES);
    this.layout = checkChoice('layout', layout, BLOOM_LAYOUTS);
    this.capacity = capacity === undefined ? undefined : checkInteger('capacity', capacity, 1);
    if (this.layout === 'partitioned' && bits % hashes !== 0) {
      throw new RangeError(`partitioned: bits must be a multiple of hashes, got ${bits} and ${hashes}`);
    }
    this.#stride = this.layout === 'partitioned' ? bits / hashes : 0;
    this.#range = this.#stride || bits;
    [this.#store, this.scheme] = store && scheme ? [store, scheme] : openStore(bits, options);
    this.#prober = prober(this.#range, this.#stride, hashes, this.scheme, this.#store.shared);
    this.#decay = decayOf(this.#stride === 0 ? hashes : 1, 1 / this.#range);
    this.#text = `BloomFilter(${bits} bits, ${hashes} hashes, ${layout}, ${this.scheme.id})`;
    this.#guard = new OverfullGuard(checkPolicy(overfull), this, this.#decay);
  }

  /** The smallest filter that keeps the rate with `capacity` distinct keys in it. */
  static forCapacity(options: BloomCapacityOptions): BloomFilter {
    checkOptions('BloomFilter.forCapacity', options, CAPACITY_OPTIONS);
    const { capacity, falsePositiveRate, layout, hashes, maxHashes, halvings = 0, ...rest } = options;
    const multipleOf = 2 ** checkInteger('halvings', halvings, 0, 30);
    const size = sizeClassic({ capacity, falsePositiveRate, layout, hashes, maxHashes, multipleOf });
    return new BloomFilter({
      ...rest,
      capacity,
      layout: layout ?? 'classic',
      bits: size.bits,
      hashes: size.hashes,
    });
  }

  /** Adds a key. True if it was certainly not in before (a bit changed), false if it may have been. */
  add(key: Key): boolean {
    this.#guard.before(1);
    hashInto(key, this.scheme);
    return this.#prober.add(this.#store.words, hashOut[0], hashOut[1]);
  }

  /** Maybe (true) or certainly not (false). */
  has(key: Key): boolean {
    const answer = WASM_POSSIBLE ? hasKeyInWasm(this.#store, this.#prober, key) : -1;
    if (answer >= 0) return answer === 1;
    hashInto(key, this.scheme);
    return classicHas(this.#store.words, hashOut[0], hashOut[1], this.#range, this.#stride, this.hashes);
  }

  /** Adds a key by its hash; see `hashKey`. */
  addHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    this.#guard.before(1);
    return this.#prober.add(this.#store.words, hash.low | 0, hash.high | 0);
  }

  /** `has` by the key's hash; see `hashKey`. */
  hasHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#prober.has(this.#store.words, hash.low | 0, hash.high | 0);
  }

  /** Adds many keys at once, the fast way. Returns how many of them were certainly not in before. */
  addMany(keys: KeyBatch): number {
    return addBatch(this.#store, this.#prober, keys, this.scheme, (count) => this.#guard.before(count));
  }

  /** One byte a key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    return hasBatch(this.#store, this.#prober, keys, this.scheme);
  }

  /** Removes all keys. */
  clear(): void {
    this.#store.words.fill(0);
    this.#guard.reset();
  }

  /** A filter of its own with the same keys, in memory that is not shared. */
  copy(): BloomFilter {
    return this.#like(this.#store.copy());
  }

  /** Adds all keys of another filter to this one. */
  merge(other: BloomFilter): this {
    this.#checkAlike(other, 'merge');
    orInto(this.#store.words, other.#store.words, this.#store.shared);
    this.#guard.reset();
    return this;
  }

  /** A new filter of the keys of both: exactly the one that adding all of them would have made. */
  union(other: BloomFilter): BloomFilter {
    return this.copy().merge(other);
  }

  /**
   * A new filter that has every key that both may have. Its bits are a superset of those of the intersection's
   * own filter, so it has more false positives than that one would; never more than either of the two.
   */
  intersection(other: BloomFilter): BloomFilter {
    this.#checkAlike(other, 'intersect');
    const store = this.#store.copy();
    andInto(store.words, other.#store.words);
    return this.#like(store);
  }

  /** Whether every bit of this filter is set in the other: false means that some key is certainly not there. */
  isSubsetOf(other: BloomFilter): boolean {
    this.#checkAlike(other, 'compare');
    return isSubset(this.#store.words, other.#store.words);
  }

  /** Same parameters and same bits. */
  equals(other: BloomFilter): boolean {
    return this.#isLike(other) && this.isSubsetOf(other) && other.isSubsetOf(this);
  }

  /**
   * A filter of half the bits with the same keys, `times` over (survey 2.4): smaller, and with the higher rate
   * that a filter of that size has. The bits must be even (of each slice in the partitioned layout).
   */
  halve(times = 1): BloomFilter {
    checkInteger('times', times, 0, 36);
    const factor = 2 ** times;
    if (this.#range % factor !== 0) {
      throw new RangeError(`Cannot halve: ${this.#range} bits in a range are not a multiple of ${factor}`);
    }
    let { words } = this.#store;
    let { bits } = this;
    for (let i = 0; i < times; i++, bits /= 2) {
      // Slices of an even number of bits fold within themselves: no pair of neighbours crosses a border.
      const half = new Uint32Array(Math.ceil(bits / 64));
      foldNeighbours(words, bits, half);
      words = half;
    }
    const store = times === 0 ? this.#store.copy() : new BitStore(words);
    return new BloomFilter({ ...this.#parameters(), bits }, store, this.scheme);
  }

  /** The number of bits that are 1. A pass over the array. */
  onesCount(): number {
    return countOnes(this.#store.words);
  }

  /** The share of bits that are 1: about one half at capacity. A pass over the array. */
  fill(): number {
    return this.onesCount() / this.bits;
  }

  /** The number of bits that are 1 in both: the inner product of survey 2.4, a measure of similarity. */
  sharedOnesCount(other: BloomFilter): number {
    this.#checkAlike(other, 'compare');
    return countSharedOnes(this.#store.words, other.#store.words);
  }

  /** How many distinct keys were added, by the zeros (survey 2.4); Infinity if there is none. See `sizeEstimate`. */
  estimatedSize(): number {
    return sizeFromOnes(this.bits, this.onesCount(), this.#decay);
  }

  /** How many distinct keys the two have together. With an interval: `unionEstimate`. */
  estimatedUnionSize(other: BloomFilter): number {
    const ones = this.onesCount() + other.onesCount() - this.sharedOnesCount(other);
    return sizeFromOnes(this.bits, ones, this.#decay);
  }

  /** How many keys they have in common (survey 2.4). With an interval: `intersectionEstimate`. */
  estimatedIntersectionSize(other: BloomFilter): number {
    return this.estimatedSize() + other.estimatedSize() - this.estimatedUnionSize(other);
  }

  /** The rate at which keys that were not added are answered with "maybe" now, by the share of bits that are 1. */
  estimatedFalsePositiveRate(): number {
    return this.fill() ** this.hashes;
  }

  /** The bytes that the bits take in memory. */
  get byteLength(): number {
    return this.#store.wordCount * 4;
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
      payload: this.#store,
    });
  }

  /** Reads a frame. What is wrong with it is a `FrameError`; a keyed filter needs its key. */
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

  /** Options that make the same filter, on the same bits, in another thread; see filters/shared/sharing.ts. */
  share(): BloomFilterOptions {
    return { ...this.#parameters(), ...sharedOptions(this.#store, this.scheme) };
  }

  toString(): string {
    return this.#text;
  }

  #parameters(): BloomFilterOptions {
    const { bits, hashes, layout, capacity } = this;
    return { bits, hashes, layout, capacity, overfull: this.#guard.policy };
  }

  #like(store: BitStore): BloomFilter {
    return new BloomFilter(this.#parameters(), store, this.scheme);
  }

  #isLike(other: BloomFilter): boolean {
    return other instanceof BloomFilter && this.#text === other.#text;
  }

  #checkAlike(other: BloomFilter, verb: string): void {
    if (!this.#isLike(other)) throw unlikeFilters(verb, this, other);
  }
}

const MAX_HASHES = 255;
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
