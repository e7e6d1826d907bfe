/**
 * The spectral Bloom filter (Cohen and Matias, SIGMOD 2003; survey, section 9): a Bloom filter with
 * counters instead of bits. It says not only whether a key may be in the set but also how often it
 * was added. It represents a multiset as an array.
 *
 * What it promises. `has` is that of a Bloom filter with as many bits as there are counters: never
 * false for a key that is in, true for others with the false positive rate. `count` is exact for
 * all but a few keys. The error of a wrong count depends on the method:
 *
 * - 'minimum-selection' (default). Adding increments all counters of a key, and the count is the
 *   least of them. It is never below the truth. It is too high only if every counter of the key is
 *   shared, so with the probability of a false positive. Keys can be deleted, and filters merged
 *   exactly.
 * - 'minimal-increase'. Adding raises only the counters that are below the new count. For every
 *   key, the count is never below the truth and never above minimum selection. It is by far the
 *   best of the three for keys that are only added. Nothing can be deleted, because a counter does
 *   not record which additions left it unchanged.
 * - 'recurring-minimum'. Minimum selection with a second, smaller array. In a wrong count the least
 *   value usually occurs in one counter only, because other keys raised the others by different
 *   amounts. Such keys are in doubt and are also counted in the second array, which holds few keys
 *   and so is rarely wrong. Keys can be deleted. The price is half as many counters again, and an
 *   error below the truth that the other two do not have.
 *
 * Measured, in a filter for 10,000 keys at 1 % false positives, full, with 100,000 more additions
 * after Zipf's law (spectral-bloom-filter.test.ts has these figures):
 *
 *     method              wrong counts   sum of the errors
 *     minimum selection   105            170
 *     minimal increase     23             29
 *     recurring minimum    76            123    (in half as much memory again)
 *
 * The rules of recurring minimum, which keep the second array complete for a key that once moved
 * there:
 *
 * - add: increment the first array. If the key is in the second (its least counter there is above
 *   0), increment it there as well, whether or not its minimum recurs at the moment, so that the
 *   second array stays complete. Otherwise, if its minimum is single now, put it there with that
 *   minimum, which is at least its true count.
 * - count: a minimum that recurs is the answer. Otherwise the second array gives the answer, if the
 *   key is in it with a smaller count.
 * - delete: the reverse in both. The second array is not changed if it holds less than is to be
 *   deleted.
 *
 * When it answers below the truth. If the minimum of a key recurs at each of its additions, the key
 * never moves to the second array. Other keys may later make all its counters there positive. The
 * key is then mistaken for one that moved, with a count that lacks its earlier additions. The error
 * shows if its minimum is single at the time of the lookup. So it needs two accidents at once, a
 * false positive in the second array and a single minimum in the first. It happened to none of the
 * 10,000 keys above, and to 18 of them in a filter for 10 % false positives. Deleting such a key
 * also lowers the counts of others: 205 were too low there after 30,000 of the 110,000 additions
 * had been deleted.
 *
 * What it costs. `counterBits` times the bits of a Bloom filter: 16 · 9.6 bits per key at 1 %.
 * Counters of 8, 16 or 32 bits saturate, and a saturated counter is never decremented, so a count
 * equal to `maximum` means "this or more". The paper packs counters to their entropy instead (its
 * string-array index). We refused that, because a probe would no longer be one memory access.
 *
 * Where it breaks down. Deleting a key that was never added, but looks present because of other
 * keys, lowers the counts of those keys: they may then be too low, and `has` may miss keys.
 * `delete` refuses a deletion that the counters show to be wrong.
 */

import { SPECTRAL_FRAME, SPECTRAL_METHODS } from '../../frames/counter-kinds.ts';
import { FrameError } from '../../frames/envelope.ts';
import { decodeFrame, encodeFrame } from '../../frames/frame.ts';
import { checkSameScheme, type HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import { hashInto, hashOut, type KeyHash } from '../../kernel/batches/hash-key.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { checkOptions } from '../../keys/check-options.ts';
import type { Key } from '../../keys/key.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkChoice, checkInteger, MAX_BITS, MAX_HASHES } from '../../math/checks.ts';
import { decayOf, rateFromOnes } from '../../math/from-ones.ts';
import { sizeClassic } from '../../math/size-classic.ts';
import { BloomFilter } from '../bloom-filter.ts';
import { type Amounts, checkAmount } from '../count-min/count-min-amounts.ts';
import { Counters } from '../count-min/count-min-counters.ts';
import { areAlike, checkAlike } from '../shared/alike.ts';
import { FillGauge } from '../shared/fill-gauge.ts';
import {
  CAPACITY_OPTIONS,
  checkCounterBits,
  checkSecondary,
  countersOptions,
  OPTIONS,
  type SpectralCapacityOptions,
  type SpectralDecodeOptions,
  type SpectralFilterOptions,
  type SpectralMethod,
} from './spectral-parameters.ts';

export type {
  SpectralCapacityOptions,
  SpectralDecodeOptions,
  SpectralFilterOptions,
  SpectralMethod,
} from './spectral-parameters.ts';

export class SpectralBloomFilter {
  readonly counters: number;
  /** The number of counters of the second array; 0 unless the method is recurring minimum. */
  readonly secondary: number;
  readonly hashes: number;
  readonly method: SpectralMethod;
  readonly counterBits: 8 | 16 | 32;
  readonly capacity: number | undefined;
  readonly scheme: HashScheme;
  /** The indices are the same as in a classic Bloom filter. */
  readonly layout = 'classic';
  readonly #counters: Counters;
  readonly #gauge: FillGauge;

  /** Sized by counters and hashes; `SpectralBloomFilter.forCapacity` sizes by capacity and rate. */
  constructor(options: SpectralFilterOptions);
  /** @internal */
  constructor(options: SpectralFilterOptions, scheme: HashScheme, counters?: Counters);
  constructor(options: SpectralFilterOptions, scheme?: HashScheme, counters?: Counters) {
    checkOptions('SpectralBloomFilter', options, OPTIONS);
    const { method = 'minimum-selection', counterBits = 16, capacity, overfull } = options;
    this.method = checkChoice('method', method, SPECTRAL_METHODS);
    this.counterBits = checkCounterBits(counterBits);
    this.hashes = checkInteger('hashes', options.hashes, 1, MAX_HASHES);
    this.counters = checkInteger('counters', options.counters, 1, MAX_BITS / counterBits);
    this.secondary = checkSecondary(this, options.secondary);
    this.capacity = capacity;
    this.scheme = scheme ?? hashScheme(options);
    this.#counters = counters ?? new Counters(countersOptions(this), this.scheme);
    this.#gauge = new FillGauge(this, decayOf(this.hashes, 1 / this.counters), overfull);
    if (new.target === SpectralBloomFilter) Object.freeze(this);
  }

  /** Makes the smallest filter whose `has` keeps the rate with `capacity` distinct keys in it. */
  static forCapacity(options: SpectralCapacityOptions): SpectralBloomFilter {
    checkOptions('SpectralBloomFilter.forCapacity', options, CAPACITY_OPTIONS);
    const { capacity, falsePositiveRate, ...rest } = options;
    const { bits, hashes } = sizeClassic({ capacity, falsePositiveRate });
    return new SpectralBloomFilter({ ...rest, capacity, counters: bits, hashes });
  }

  /**
   * The number of counters, under the name that `sizeEstimate` needs: each is a bit of the Bloom
   * filter.
   */
  get bits(): number {
    return this.counters;
  }

  /** The largest possible count, which means "this or more". */
  get maximum(): number {
    return this.#counters.maximum;
  }

  /** The number of additions minus deletions, over all keys. */
  get total(): number {
    return this.#counters.total;
  }

  /**
   * Adds a key `count` times. Returns true if it was certainly absent before, false if it may have
   * been present.
   */
  add(key: Key, count = 1): boolean {
    checkAmount(count);
    hashInto(key, this.scheme);
    return this.#add(hashOut[0], hashOut[1], count);
  }

  /** True if the key may have been added, false if it certainly was not. */
  has(key: Key): boolean {
    hashInto(key, this.scheme);
    return this.#counters.has(hashOut[0], hashOut[1]);
  }

  /** How often the key was added and not deleted. The methods above explain how it can be wrong. */
  count(key: Key): number {
    hashInto(key, this.scheme);
    return this.#counters.count(hashOut[0], hashOut[1]);
  }

  /**
   * Deletes a key `count` times. Returns false, and changes nothing, if the key was certainly not
   * added that often. True means that its counters allowed the deletion, not that the key was
   * there. If other keys had raised these counters, the counts of those keys become too low.
   */
  delete(key: Key, count = 1): boolean {
    this.#checkDeletable();
    checkAmount(count);
    hashInto(key, this.scheme);
    return this.#delete(hashOut[0], hashOut[1], count);
  }

  /** `add` by the key's hash; see `hashKey`. */
  addHash(hash: KeyHash, count = 1): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    checkAmount(count);
    return this.#add(hash.low | 0, hash.high | 0, count);
  }

  /** `has` by the key's hash. */
  hasHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#counters.has(hash.low | 0, hash.high | 0);
  }

  /** `count` by the key's hash. */
  countHash(hash: KeyHash): number {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#counters.count(hash.low | 0, hash.high | 0);
  }

  /** `delete` by the key's hash. */
  deleteHash(hash: KeyHash, count = 1): boolean {
    this.#checkDeletable();
    checkSameScheme(hash.scheme, this.scheme);
    return this.#delete(hash.low | 0, hash.high | 0, checkAmount(count));
  }

  /**
   * Adds many keys, faster than one by one and with the same result: each `counts` times, or each
   * its own number of times. Returns how many were certainly absent before.
   */
  addMany(keys: KeyBatch, counts?: Amounts): number {
    return this.#counters.addMany(keys, counts, this.#gauge);
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    return this.#counters.hasMany(keys);
  }

  /** The counts of many keys, in order. */
  countMany(keys: KeyBatch): Float64Array {
    return this.#counters.countMany(keys);
  }

  /**
   * Deletes many keys, one after the other. Returns for how many of them `delete` would have
   * returned true.
   */
  deleteMany(keys: KeyBatch, counts?: Amounts): number {
    this.#checkDeletable();
    const removed = this.#counters.subtractMany(keys, counts);
    this.#gauge.after(-removed);
    return removed;
  }

  /** Removes all keys. */
  clear(): void {
    this.#counters.clear();
    this.#gauge.reset();
  }

  /** An independent filter with the same keys. */
  copy(): SpectralBloomFilter {
    return new SpectralBloomFilter(this.#parameters(), this.scheme, this.#counters.copy());
  }

  /**
   * Adds all keys of another filter, each as often as it is there. With minimum selection the
   * result is exactly the filter of both. With minimal increase the sums are at least the counts of
   * both together, and may be above those of a single filter of both. Recurring minimum is refused:
   * a key that moved to the second array on one side only would be counted there without its
   * additions on the other side, and it is not known which keys these are.
   */
  merge(other: SpectralBloomFilter): this {
    checkAlike(areAlike(SpectralBloomFilter, this, other), 'merge', this, other);
    if (this.method === 'recurring-minimum') {
      throw new TypeError(
        'Cannot merge with recurring minimum: a key that is in the second array of only one filter would be ' +
          "counted too low; use method: 'minimum-selection'",
      );
    }
    this.#gauge.beforeMerge(() => this.#counters.unitedNonZeroCount(other.#counters));
    this.#counters.merge(other.#counters);
    this.#gauge.reset();
    return this;
  }

  /** A new filter with the keys of both; see `merge`. */
  union(other: SpectralBloomFilter): SpectralBloomFilter {
    return this.copy().merge(other);
  }

  /** Whether both have the same parameters, counters and total. */
  equals(other: SpectralBloomFilter): boolean {
    return areAlike(SpectralBloomFilter, this, other) && this.#counters.equals(other.#counters);
  }

  /** The Bloom filter of the keys that are in: a bit is 1 where the counter is not 0. */
  toBloomFilter(): BloomFilter {
    const { counters: bits, hashes, capacity } = this;
    const store = BitStore.allocate(bits);
    this.#counters.each(0, bits, (value, at) => {
      if (value > 0) store.words[Math.floor(at / 32)] |= 1 << (at & 31);
    });
    return new BloomFilter({ bits, hashes, capacity }, store, this.scheme);
  }

  /** The number of counters (of the first array) that are not 0. Reads the whole array. */
  onesCount(): number {
    return this.#counters.nonZeroCount();
  }

  /** The share of counters that are not 0, about one half at capacity. */
  fill(): number {
    return this.onesCount() / this.counters;
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

  /** The bytes that the counters take in memory. */
  get byteLength(): number {
    return this.#counters.byteLength;
  }

  /**
   * The filter as a frame: bytes to save or send, read back by `SpectralBloomFilter.decode`
   * anywhere.
   */
  encode(): Uint8Array<ArrayBuffer> {
    return encodeFrame(SPECTRAL_FRAME, {
      variant: SPECTRAL_METHODS.indexOf(this.method),
      scheme: this.scheme,
      parameters: [this.counters, this.secondary, this.hashes, this.counterBits, this.capacity ?? 0],
      payload: this.#counters.toPayload(),
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed filter needs its key. */
  static decode(frame: Uint8Array, { key, ...options }: SpectralDecodeOptions = {}): SpectralBloomFilter {
    checkOptions('SpectralBloomFilter.decode', options, ['overfull']);
    const { variant, parameters, payload, scheme, start } = decodeFrame(SPECTRAL_FRAME, frame, key);
    const [counters, secondary, hashes, counterBits, capacity] = parameters;
    const filter = new SpectralBloomFilter(
      {
        ...options,
        counters,
        secondary: secondary || undefined,
        hashes,
        counterBits: counterBits as 8 | 16 | 32,
        capacity: capacity || undefined,
        method: SPECTRAL_METHODS[variant],
      } as SpectralFilterOptions, // the frame's kind has compared method and secondary
      scheme,
    );
    const wrong = filter.#counters.setPayload(payload) ?? filter.#contradiction();
    if (wrong !== undefined) {
      throw new FrameError('payload', start, `no filter has ${wrong}`);
    }
    filter.#gauge.reset();
    return filter;
  }

  toString(): string {
    const { counters, secondary, hashes, counterBits, method, scheme } = this;
    const arrays = secondary === 0 ? `${counters}` : `${counters} + ${secondary}`;
    return `SpectralBloomFilter(${arrays} counters, ${counterBits} bits, ${hashes} hashes, ${method}, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #add(low: number, high: number, count: number): boolean {
    if (!this.#gauge.before(1) && !this.#counters.has(low, high)) this.#gauge.refuse();
    const fresh = this.#counters.add(low, high, count) === 0;
    if (fresh) this.#gauge.after(1);
    return fresh;
  }

  #delete(low: number, high: number, count: number): boolean {
    const removed = this.#counters.subtract(low, high, count);
    if (removed) this.#gauge.after(-1);
    return removed;
  }

  /**
   * Describes counters that do not fit the total. Minimal increase raises at least one and at most
   * k counters with each addition. The other methods have no such bound, because deleting keys that
   * were never added can lead to any state.
   */
  #contradiction(): string | undefined {
    const { counters, hashes, total, maximum, method } = this;
    if (method !== 'minimal-increase') return undefined;
    let sum = 0;
    let saturated = false;
    this.#counters.each(0, counters, (value) => {
      sum += value;
      saturated ||= value === maximum;
    });
    const sound = sum <= hashes * total && (saturated || sum >= total);
    return sound ? undefined : `counters that add up to ${sum} with a total of ${total}`;
  }

  #checkDeletable(): void {
    if (this.method === 'minimal-increase') {
      throw new TypeError(
        'Cannot delete with minimal increase: a counter does not know whose additions it did not take up; ' +
          "use method: 'minimum-selection' or 'recurring-minimum'",
      );
    }
  }

  #parameters(): SpectralFilterOptions {
    const { counters, secondary, hashes, method, counterBits, capacity } = this;
    return {
      counters,
      secondary: secondary || undefined,
      hashes,
      method,
      counterBits,
      capacity,
      overfull: this.#gauge.policy,
    } as SpectralFilterOptions;
  }
}
