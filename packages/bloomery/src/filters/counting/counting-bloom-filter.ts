/**
 * The counting Bloom filter (Fan, Cao, Almeida, Broder 1998; survey 2.5): a counter in place of
 * each bit, so that keys can be deleted. A cache that evicts as often as it stores needs this
 * filter.
 *
 * What it promises. `has` answers true for every key that was added more often than it was deleted,
 * whatever happened to the other keys, as long as only keys that are in were deleted. Its answers,
 * its rate and its `snapshot()` are those of the `BloomFilter` with the same parameters and the
 * keys that are left.
 *
 * What it costs. A counter of 4 bits holds up to 15, and overflows with probability below 1.37e-15
 * · m at the best k (survey 2.5): 4 times the memory of the bits. Counters of 2 bits halve that and
 * overflow now and then. Counters of 8 and 16 bits are for keys that are added many times.
 *
 * Overflow. A counter at its maximum is stuck there: it does not know how many keys it stands for,
 * so deleting never lowers it. That causes a false positive now and then (a key that was deleted
 * and is still answered "maybe"), and never a false negative. `saturatedCount()` says how many are
 * stuck. `clear`, followed by adding the keys again, frees them.
 *
 * Deleting a key that is not in. If one of the key's counters is 0, the key is certainly not in:
 * `delete` returns false and changes nothing. If all of them are above 0, this cannot be detected.
 * Deleting a key that was never added but is a false positive lowers counters of other keys, and
 * one of those may be lost. Delete only keys that were added.
 *
 * Changes. `trackChanges` adds one bit per counter, which says whether a bit of the snapshot
 * differs from its value when the changes were last taken. These are exactly the bits that bring a
 * summary that was sent before up to date (compressed IV). A bit that was set and cleared again
 * since then is not among them.
 *
 * What it cannot do. It cannot halve: two counters of one key may fall together, and their sum
 * would count the key twice. Halve the snapshot instead. It cannot live in shared memory: adding a
 * key takes several atomic steps, and another thread could see it half done.
 */

import { decodeFrame, encodeFrame, type FrameWriter } from '../../frames/frame.ts';
import { COUNTING_FRAME } from '../../frames/frame-kinds.ts';
import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import { hashInto, hashOut, type KeyHash } from '../../kernel/batches/hash-key.ts';
import type { BitStore } from '../../kernel/bits/bit-store.ts';
import {
  type CountingShape,
  countingAdd,
  countingCount,
  countingDelete,
  countingHas,
} from '../../kernel/counters/counting.ts';
import {
  countingAddChunk,
  countingAddOne,
  countingCountChunk,
  countingCountOne,
  countingDeleteChunk,
  countingDeleteOne,
  countingHasChunk,
  countingHasOne,
} from '../../kernel/counters/counting-wasm.ts';
import { WASM_POSSIBLE } from '../../kernel/wasm/wasm-possible.ts';
import { checkOptions } from '../../keys/check-options.ts';
import type { Key } from '../../keys/key.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkChoice, checkInteger, MAX_BITS, MAX_HASHES } from '../../math/checks.ts';
import { decayOf, rateFromOnes } from '../../math/from-ones.ts';
import { BLOOM_LAYOUTS } from '../../math/layouts.ts';
import { sizeClassic } from '../../math/size-classic.ts';
import { BloomFilter, type BloomLayout } from '../bloom-filter.ts';
import { areAlike, checkAlike } from '../shared/alike.ts';
import {
  addBatch,
  hasBatch,
  type Prober,
  probeBatch,
  residence,
  valueBatch,
} from '../shared/batch-probing.ts';
import { FillGauge } from '../shared/fill-gauge.ts';
import type { DecodeOptions, OverfullPolicy } from '../shared/options.ts';
import { sliceOf } from '../shared/slice-of.ts';
import { CounterArray } from './counter-array.ts';
import { addSaturating, type CombineCounters, smaller } from './counter-operations.ts';

export type CounterBits = 2 | 4 | 8 | 16;

interface CommonOptions extends HashOptions {
  /** The width of a counter: 2, 4, 8 or 16 bits. Default 4. */
  readonly counterBits?: CounterBits;
  readonly layout?: BloomLayout;
  /**
   * Remembers which bits of the snapshot change; see `takeChanges`. Takes one more bit per counter.
   */
  readonly trackChanges?: boolean;
  /** 'allow' (default), 'warn' (once, on the console) or 'throw' (an `OverfullError`). */
  readonly overfull?: OverfullPolicy;
}

export interface CountingFilterOptions extends CommonOptions {
  /** The number of counters, m. A multiple of `hashes` in the partitioned layout. */
  readonly counters: number;
  /** The number of hashes per key, k. From 1 to 255. */
  readonly hashes: number;
  /** The number of distinct keys that the filter is meant for; only the overfull policy uses it. */
  readonly capacity?: number | undefined;
}

export interface CountingCapacityOptions extends CommonOptions {
  /** The largest number of distinct keys that are in at the same time. */
  readonly capacity: number;
  /** The false positive rate at capacity, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
  /** Fixes k instead of choosing the best one. */
  readonly hashes?: number;
  /** Upper limit of k, for fewer probes and more counters. */
  readonly maxHashes?: number;
}

export interface CountingDecodeOptions extends Omit<DecodeOptions, 'shared'> {
  readonly trackChanges?: boolean;
}

export class CountingBloomFilter {
  readonly counters: number;
  readonly hashes: number;
  readonly counterBits: CounterBits;
  readonly layout: BloomLayout;
  readonly capacity: number | undefined;
  readonly scheme: HashScheme;
  readonly #shape: CountingShape;
  readonly #array: CounterArray;
  readonly #store: BitStore;
  readonly #prober: Prober;
  readonly #gauge: FillGauge;
  #taker: object | undefined;

  /** Sized by counters and hashes; `CountingBloomFilter.forCapacity` sizes by capacity and rate. */
  constructor(options: CountingFilterOptions);
  /** @internal */
  constructor(options: CountingFilterOptions, scheme: HashScheme);
  constructor(options: CountingFilterOptions, scheme = hashScheme(options)) {
    checkOptions('CountingBloomFilter', options, OPTIONS);
    const { counters, hashes, counterBits = 4, layout = 'classic', capacity } = options;
    this.counterBits = checkCounterBits(counterBits);
    this.counters = checkInteger('counters', counters, 1, MAX_BITS / counterBits);
    this.hashes = checkInteger('hashes', hashes, 1, MAX_HASHES);
    this.layout = checkChoice('layout', layout, BLOOM_LAYOUTS);
    this.capacity = capacity;
    const stride = sliceOf(counters, hashes, layout, 'counters');
    const range = stride || counters;
    this.scheme = scheme;
    this.#array = new CounterArray(counters, counterBits, options.trackChanges ?? false);
    this.#store = this.#array.store;
    this.#shape = { range, stride, hashes, counterBits, changes: this.#array.changesAt };
    this.#prober = prober(this.#shape);
    this.#gauge = new FillGauge(this, decayOf(stride === 0 ? hashes : 1, 1 / range), options.overfull);
    if (new.target === CountingBloomFilter) Object.freeze(this);
  }

  /** Makes the smallest filter that keeps the rate with `capacity` distinct keys in it. */
  static forCapacity(options: CountingCapacityOptions): CountingBloomFilter {
    checkOptions('CountingBloomFilter.forCapacity', options, CAPACITY_OPTIONS);
    const { capacity, falsePositiveRate, hashes, maxHashes, ...rest } = options;
    checkCounterBits(rest.counterBits ?? 4);
    const { layout } = rest;
    const size = sizeClassic({ capacity, falsePositiveRate, layout, hashes, maxHashes });
    return new CountingBloomFilter({ ...rest, capacity, counters: size.bits, hashes: size.hashes });
  }

  /** The number of bits of the snapshot: one per counter. */
  get bits(): number {
    return this.counters;
  }

  /** The largest answer of `count`, which means "this or more". */
  get maxCount(): number {
    return 2 ** this.counterBits - 1;
  }

  /** Whether changes are tracked; see `takeChanges`. */
  get trackChanges(): boolean {
    return this.#array.changesAt !== 0;
  }

  /**
   * Adds a key. Adding a key that is in raises its count. Returns true if it was certainly absent
   * before, false if it may have been present.
   */
  add(key: Key): boolean {
    hashInto(key, this.scheme);
    return this.#add(hashOut[0], hashOut[1]);
  }

  /** True if the key may be in, false if it certainly is not. */
  has(key: Key): boolean {
    hashInto(key, this.scheme);
    return this.#has(hashOut[0], hashOut[1]);
  }

  /**
   * Takes back one addition. Returns false, and changes nothing, if the key is certainly not in. A
   * key that was never added must not be deleted: if it is a false positive, this cannot be
   * detected, and other keys may be lost.
   */
  delete(key: Key): boolean {
    hashInto(key, this.scheme);
    return this.#delete(hashOut[0], hashOut[1]);
  }

  /**
   * Upper bound on how often the key is in; `maxCount` means at least that often. Too high at about
   * the false positive rate.
   */
  count(key: Key): number {
    hashInto(key, this.scheme);
    return this.#count(hashOut[0], hashOut[1]);
  }

  /** Adds a key by its hash; see `hashKey`. */
  addHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#add(hash.low | 0, hash.high | 0);
  }

  /** `has` by the key's hash; see `hashKey`. */
  hasHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#has(hash.low | 0, hash.high | 0);
  }

  /** `delete` by the key's hash; see `hashKey`. */
  deleteHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#delete(hash.low | 0, hash.high | 0);
  }

  /** `count` by the key's hash; see `hashKey`. */
  countHash(hash: KeyHash): number {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#count(hash.low | 0, hash.high | 0);
  }

  /** Adds many keys, faster than one by one. Returns how many were certainly absent before. */
  addMany(keys: KeyBatch): number {
    return addBatch(this.#store, this.#prober, keys, this.scheme, this.#gauge);
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    return hasBatch(this.#store, this.#prober, keys, this.scheme);
  }

  /**
   * Deletes many keys at once. Returns how many were deleted; the others were certainly not in. See
   * `delete`.
   */
  deleteMany(keys: KeyBatch): number {
    let removed = 0;
    probeBatch(this.#store, keys, this.scheme, {
      inWasm: WASM_POSSIBLE
        ? (wasm, count, address) => (removed += countingDeleteChunk(wasm, count, address, this.#shape))
        : null,
      outside: (low, high) => (removed += countingDelete(this.#store.words, low, high, this.#shape) ? 1 : 0),
    });
    this.#gauge.after(-removed);
    return removed;
  }

  /** `count` for many keys, in order. */
  countMany(keys: KeyBatch): Float64Array {
    return valueBatch(
      this.#store,
      keys,
      this.scheme,
      WASM_POSSIBLE ? (wasm, count, address) => countingCountChunk(wasm, count, address, this.#shape) : null,
      (low, high) => countingCount(this.#store.words, low, high, this.#shape),
    );
  }

  /**
   * The Bloom filter of the keys that are in: same parameters, same answers, one bit per counter.
   * Reads the whole array.
   */
  snapshot(): BloomFilter {
    const { bits, hashes, layout, capacity } = this;
    return new BloomFilter({ bits, hashes, layout, capacity }, this.#array.nonZeroBits(), this.scheme);
  }

  /**
   * The number of bits of the snapshot that differ from their value when the changes were last
   * taken.
   */
  changedCount(): number {
    return this.#array.changedCount();
  }

  /**
   * The positions of the bits of the snapshot that changed since the last call (or since the filter
   * was made or decoded), rising. Flipping them in the old snapshot gives the new one. Throws if a
   * publisher takes the changes: those taken elsewhere would be missing in every summary.
   */
  takeChanges(): Float64Array {
    if (this.#taker !== undefined) {
      throw new TypeError(
        'Cannot take changes: expected a filter without a publisher, got one that a publisher reads',
      );
    }
    return this.#array.takeChanges();
  }

  /** @internal The only object that may take the changes, or undefined if any caller may. */
  get changeTaker(): object | undefined {
    return this.#taker;
  }

  /** @internal */
  set changeTaker(taker: object | undefined) {
    this.#taker = taker;
  }

  /** @internal The changes, for the one that may take them. */
  takeChangesAs(taker: object): Float64Array {
    if (this.#taker !== taker) {
      throw new TypeError(
        'Cannot publish: expected a filter of its own, got one that was given to another publisher (replace it)',
      );
    }
    return this.#array.takeChanges();
  }

  /** Removes all keys. */
  clear(): void {
    this.#array.clear();
    this.#gauge.reset();
  }

  /**
   * An independent filter with the same keys. If this one tracks changes, so does the copy, from
   * now on.
   */
  copy(): CountingBloomFilter {
    const copy = new CountingBloomFilter(this.#parameters(), this.scheme);
    copy.#array.words.set(this.#array.words);
    copy.#gauge.reset();
    return copy;
  }

  /** Adds all keys of another filter, each as often as it is in that one. */
  merge(other: CountingBloomFilter): this {
    checkAlike(areAlike(CountingBloomFilter, this, other), 'merge', this, other);
    this.#gauge.beforeMerge(() => this.onesCount() + other.onesCount() - this.sharedOnesCount(other));
    return this.#combine(other, addSaturating);
  }

  /**
   * A new filter with the keys of both, the same as if all of them had been added to one filter.
   */
  union(other: CountingBloomFilter): CountingBloomFilter {
    return this.copy().merge(other);
  }

  /**
   * A new filter with every key that both may have. The count of a key is the lesser of its two
   * counts. Its counters are at least those of a filter built from the common keys;
   * `BloomFilter.intersection` explains its false positives.
   */
  intersection(other: CountingBloomFilter): CountingBloomFilter {
    checkAlike(areAlike(CountingBloomFilter, this, other), 'intersect', this, other);
    return this.copy().#combine(other, smaller);
  }

  /**
   * Whether no counter is above the same counter of the other. If not, the other lacks some key, or
   * has it less often.
   */
  isSubsetOf(other: CountingBloomFilter): boolean {
    checkAlike(areAlike(CountingBloomFilter, this, other), 'compare', this, other);
    return this.#array.isWithin(other.#array);
  }

  /** Whether both have the same parameters and the same counters. */
  equals(other: CountingBloomFilter): boolean {
    return areAlike(CountingBloomFilter, this, other) && this.isSubsetOf(other) && other.isSubsetOf(this);
  }

  /** The number of counters that are not 0. Reads the whole array. */
  onesCount(): number {
    return this.#array.nonZeroCount();
  }

  /** The share of counters that are not 0. Reads the whole array. */
  fill(): number {
    return this.onesCount() / this.counters;
  }

  /** The number of counters that are not 0 in both. */
  sharedOnesCount(other: CountingBloomFilter): number {
    checkAlike(areAlike(CountingBloomFilter, this, other), 'compare', this, other);
    return this.#array.bothNonZeroCount(other.#array);
  }

  /** How many counters are stuck at their maximum. Reads the whole array. */
  saturatedCount(): number {
    return this.#array.saturatedCount();
  }

  /**
   * Estimates how many distinct keys are in, from the number of zeros (survey 2.4). Infinity if no
   * zero is left. `sizeEstimate` also gives an interval.
   */
  estimatedSize(): number {
    return this.#gauge.size();
  }

  /** Estimates the current false positive rate from the share of counters that are not 0. */
  estimatedFalsePositiveRate(): number {
    return rateFromOnes(this.counters, this.onesCount(), this.hashes);
  }

  /** The bytes that counters and change bits take in memory. */
  get byteLength(): number {
    return this.#store.wordCount * 4;
  }

  /** The filter as a frame. Changes are not part of it, because they belong to the sender. */
  encode(): Uint8Array<ArrayBuffer>;
  /** @internal */
  encode<T>(write: FrameWriter<T>): T;
  encode(write: FrameWriter<unknown> = encodeFrame): unknown {
    return write(COUNTING_FRAME, {
      variant: BLOOM_LAYOUTS.indexOf(this.layout),
      scheme: this.scheme,
      parameters: [this.counters, this.hashes, this.counterBits, this.capacity ?? 0],
      payload: this.#store,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed filter needs its key. */
  static decode(frame: Uint8Array, { key, ...options }: CountingDecodeOptions = {}): CountingBloomFilter {
    checkOptions('CountingBloomFilter.decode', options, ['overfull', 'trackChanges']);
    const { variant, parameters, payload, scheme } = decodeFrame(COUNTING_FRAME, frame, key);
    const [counters, hashes, counterBits, capacity] = parameters;
    const filter = new CountingBloomFilter(
      {
        ...options,
        counters,
        hashes,
        counterBits: counterBits as CounterBits,
        layout: BLOOM_LAYOUTS[variant],
        capacity: capacity || undefined,
      },
      scheme,
    );
    filter.#store.setBytes(payload);
    return filter;
  }

  toString(): string {
    const { counters, counterBits, hashes, layout, scheme } = this;
    return `CountingBloomFilter(${counters} counters of ${counterBits} bits, ${hashes} hashes, ${layout}, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  // Operations on one key, given by the halves of its hash.

  #add(low: number, high: number): boolean {
    if (!this.#gauge.before(1) && !this.#has(low, high)) this.#gauge.refuse();
    const wasm = WASM_POSSIBLE ? residence(this.#store) : null;
    const fresh =
      WASM_POSSIBLE && wasm !== null
        ? countingAddOne(wasm, low, high, this.#store.address, this.#shape)
        : countingAdd(this.#store.words, low, high, this.#shape);
    if (fresh) this.#gauge.after(1);
    return fresh;
  }

  #has(low: number, high: number): boolean {
    const wasm = WASM_POSSIBLE ? residence(this.#store) : null;
    return WASM_POSSIBLE && wasm !== null
      ? countingHasOne(wasm, low, high, this.#store.address, this.#shape)
      : countingHas(this.#store.words, low, high, this.#shape);
  }

  #delete(low: number, high: number): boolean {
    const wasm = WASM_POSSIBLE ? residence(this.#store) : null;
    const removed =
      WASM_POSSIBLE && wasm !== null
        ? countingDeleteOne(wasm, low, high, this.#store.address, this.#shape)
        : countingDelete(this.#store.words, low, high, this.#shape);
    if (removed) this.#gauge.after(-1);
    return removed;
  }

  #count(low: number, high: number): number {
    const wasm = WASM_POSSIBLE ? residence(this.#store) : null;
    return WASM_POSSIBLE && wasm !== null
      ? countingCountOne(wasm, low, high, this.#store.address, this.#shape)
      : countingCount(this.#store.words, low, high, this.#shape);
  }

  #combine(other: CountingBloomFilter, combine: CombineCounters): this {
    this.#array.combine(other.#array, combine);
    this.#gauge.reset();
    return this;
  }

  #parameters(): CountingFilterOptions {
    const { counters, hashes, counterBits, layout, capacity, trackChanges } = this;
    return { counters, hashes, counterBits, layout, capacity, trackChanges, overfull: this.#gauge.policy };
  }
}

const COMMON = ['counterBits', 'layout', 'trackChanges', 'overfull', 'seed', 'key', 'hash'];
const OPTIONS = ['counters', 'hashes', 'capacity', ...COMMON];
const CAPACITY_OPTIONS = ['capacity', 'falsePositiveRate', 'hashes', 'maxHashes', ...COMMON];

function checkCounterBits(counterBits: number): CounterBits {
  if (![2, 4, 8, 16].includes(counterBits)) {
    throw new RangeError(`Cannot use counterBits: expected 2, 4, 8 or 16, got ${counterBits}`);
  }
  return counterBits as CounterBits;
}

function prober(shape: CountingShape): Prober {
  return {
    has: (words, low, high) => countingHas(words, low, high, shape),
    add: (words, low, high) => countingAdd(words, low, high, shape),
    inWasm: WASM_POSSIBLE
      ? {
          hasKey: () => -1,
          has: (wasm, count, address) => countingHasChunk(wasm, count, address, shape),
          add: (wasm, count, address) => countingAddChunk(wasm, count, address, shape),
        }
      : null,
  };
}
