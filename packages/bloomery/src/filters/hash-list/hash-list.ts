/**
 * A Bloom filter that is nearly empty, kept as the sorted list of its ones (Mitzenmacher,
 * compressed III.A).
 *
 * Why. A filter that is compressed for sending should have few hashes and many bits: with one hash
 * and 92 bits per key it has 1.08 % false positives, and compressed it is smaller than the usual
 * filter. Uncompressed it would be ten times as large as the usual one. The list is the alternative
 * to keeping the array: each position takes ⌈log2 m⌉ bits, so n keys take n·⌈log2 92n⌉ bits.
 * Measured: 17 bits per key at a thousand keys, 27 at a million, where the array takes 92.
 *
 * What it promises. For each key, the same answer as the `BloomFilter` of the same bits, hashes and
 * seed: the positions are the same, only the lookup differs. `fromFilter` and `toFilter` convert
 * between the two.
 *
 * What it costs in memory. In general the list takes no less than a plain filter, which takes 9.6
 * bits per key at 1 %. The list takes about log2(n/p) bits per key, the filter 1.44·log2(1/p), so
 * the list is smaller for p below n^(-2.3): small sets, low rates.
 *
 * What it costs in time. A lookup is an interpolation search (kernel/lists/sorted-list.ts), about
 * five reads at a million keys. Measured in batches: 120 to 290 ns, 4 to 9 times as long as the
 * array of 92 bits per key, 2.5 to 5 times as long as the usual filter. Adding is merging: a batch
 * is sorted and merged once, at 0.2 µs per key. Single keys wait in a small tail until a merge pays
 * (filters/hash-list/position-list.ts) and cost 2 to 5 µs each, at a thousand keys as at a million.
 * Prefer batches.
 *
 * Where it breaks down: full filters. If half of the bits are ones, the list takes ⌈log2 m⌉ bits
 * per one where the array takes two.
 */

import { FrameError } from '../../frames/envelope.ts';
import { checkPlain, decodeFrame, encodeFrame, type FrameWriter } from '../../frames/frame.ts';
import { BLOOM_FRAME } from '../../frames/frame-kinds.ts';
import { HASH_LIST_FRAME } from '../../frames/table-kinds.ts';
import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import { chunkHashes, countOf, eachChunk, type KeyBatch } from '../../kernel/batches/batch.ts';
import { hashInto, hashOut, type KeyHash } from '../../kernel/batches/hash-key.ts';
import { hashKeys } from '../../kernel/batches/hash-keys.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { probeIndex } from '../../kernel/bits/classic.ts';
import { listHas } from '../../kernel/lists/sorted-list.ts';
import { listHasChunk } from '../../kernel/lists/sorted-list-wasm.ts';
import { WASM_POSSIBLE } from '../../kernel/wasm/wasm-possible.ts';
import { checkOptions } from '../../keys/check-options.ts';
import type { Key } from '../../keys/key.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkInteger, checkRate, MAX_BITS, MAX_HASHES } from '../../math/checks.ts';
import { decayOf, rateFromOnes } from '../../math/from-ones.ts';
import { bitsAsymptotic } from '../../math/rates.ts';
import { sizeClassic } from '../../math/size-classic.ts';
import { BloomFilter } from '../bloom-filter.ts';
import { areAlike, checkAlike } from '../shared/alike.ts';
import { withRoom } from '../shared/batch-probing.ts';
import { FillGauge } from '../shared/fill-gauge.ts';
import type { DecodeOptions, OverfullPolicy } from '../shared/options.ts';
import { PositionList, TAIL_SHARE } from './position-list.ts';

export interface HashListOptions extends HashOptions {
  /** The number of bits, m. From 1 to 2^36. The list takes no memory for zeros. */
  readonly bits: number;
  /** The number of hashes per key, k. From 1 to 255. Default 1. */
  readonly hashes?: number;
  /** The number of distinct keys that the list is meant for; only the overfull policy uses it. */
  readonly capacity?: number | undefined;
  /** 'allow' (default), 'warn' (once, on the console) or 'throw' (an `OverfullError`). */
  readonly overfull?: OverfullPolicy;
}

export interface HashListCapacityOptions extends HashOptions {
  readonly capacity: number;
  /** The false positive rate at capacity, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
  /** The number of hashes per key, k. Default 1, or as many as keep the bits within 2^36. */
  readonly hashes?: number;
  readonly overfull?: OverfullPolicy;
}

export interface HashListFromOptions extends Omit<HashListCapacityOptions, 'capacity'> {
  readonly capacity?: number;
}

export type HashListDecodeOptions = Pick<DecodeOptions, 'key' | 'overfull'>;

export class HashList {
  readonly bits: number;
  readonly hashes: number;
  readonly layout = 'classic';
  readonly capacity: number | undefined;
  readonly scheme: HashScheme;
  readonly #gauge: FillGauge;
  #list: PositionList;

  /** Sized by bits and hashes; `HashList.forCapacity` sizes by capacity and rate. */
  constructor(options: HashListOptions);
  /** @internal */
  constructor(options: HashListOptions, list: PositionList, scheme: HashScheme);
  constructor(options: HashListOptions, list?: PositionList, scheme?: HashScheme) {
    checkOptions('HashList', options, OPTIONS);
    const { bits, hashes = 1, capacity, overfull } = options;
    this.bits = checkInteger('bits', bits, 1, MAX_BITS);
    this.hashes = checkInteger('hashes', hashes, 1, MAX_HASHES);
    this.capacity = capacity;
    this.scheme = scheme ?? hashScheme(options);
    this.#list = list ?? new PositionList(bits);
    this.#gauge = new FillGauge(this, decayOf(hashes, 1 / bits), overfull);
    if (new.target === HashList) Object.freeze(this);
  }

  /**
   * Makes the list with the fewest bits that keeps the rate with `capacity` distinct keys, by
   * default with one hash.
   */
  static forCapacity(options: HashListCapacityOptions): HashList {
    checkOptions('HashList.forCapacity', options, CAPACITY_OPTIONS);
    const { capacity, falsePositiveRate, hashes = leastHashes(options), ...rest } = options;
    const size = sizeClassic({ capacity, falsePositiveRate, hashes });
    return new HashList({ ...rest, capacity, bits: size.bits, hashes: size.hashes });
  }

  /**
   * Makes the list of these keys, sized for their number, or for `capacity` if more keys are to be
   * added.
   */
  static from(keys: KeyBatch, options: HashListFromOptions): HashList {
    checkOptions('HashList.from()', options, CAPACITY_OPTIONS);
    const hashed = hashKeys(keys, hashScheme(options));
    const list = HashList.forCapacity({ capacity: Math.max(1, hashed.length), ...options });
    list.addMany(hashed);
    return list;
  }

  /** The ones of a classic filter as a list: the same answers, in other memory. */
  static fromFilter(filter: BloomFilter): HashList {
    const { bits, hashes, layout, capacity, scheme } = filter;
    if (layout !== 'classic') {
      throw new RangeError(`Cannot make a HashList: expected the classic layout, got ${filter}`);
    }
    const list = PositionList.fromBits(
      bits,
      checkPlain(BLOOM_FRAME, filter.encode()).payload,
      filter.onesCount(),
    );
    return new HashList({ bits, hashes, capacity }, list, scheme);
  }

  /** The same filter as an array of bits. */
  toFilter(): BloomFilter {
    const { bits, hashes, capacity } = this;
    const store = BitStore.allocate(bits);
    this.#list.settle().setBits(store.words);
    return new BloomFilter({ bits, hashes, capacity }, store, this.scheme);
  }

  /**
   * Adds a key. Returns true if it was certainly absent before, false if it may have been present.
   */
  add(key: Key): boolean {
    hashInto(key, this.scheme);
    return this.#add(hashOut[0], hashOut[1]);
  }

  /** True if the key may have been added, false if it certainly was not. */
  has(key: Key): boolean {
    hashInto(key, this.scheme);
    return this.#has(hashOut[0], hashOut[1]);
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

  /** Adds many keys, sorted and merged at once. Returns how many were certainly absent before. */
  addMany(keys: KeyBatch): number {
    const before = this.#list.freshKeys;
    let [queued, alone] = [0, 0];
    eachChunk(keys, this.scheme, (count, wasm) => {
      const hashes = chunkHashes(wasm);
      if (this.#gauge.before(count)) {
        this.#list.queue(hashes, count, this.hashes);
        // Which of them are new is known at the end. Until then all of them count.
        this.#gauge.after(count);
        queued += count;
      } else {
        this.#gauge.after(this.#list.settle().freshKeys - before - queued);
        queued = this.#list.freshKeys - before;
        const own = hashes.slice(0, 2 * count); // merging may reuse the memory of the chunk
        for (let i = 0; i < count; i++) if (this.#add(own[2 * i], own[2 * i + 1])) alone++;
      }
    });
    const fresh = this.#list.settle().freshKeys - before;
    this.#gauge.after(fresh - queued);
    return fresh + alone;
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    const total = countOf(keys);
    let answers = new Uint8Array(total);
    let seen = 0;
    // Merging the waiting positions reads the whole list, which does not pay for a handful of keys.
    if (total === 0 || TAIL_SHARE * total >= this.#list.count) this.#list.settle();
    eachChunk(keys, this.scheme, (count, wasm) => {
      answers = withRoom(answers, seen + count);
      // Read again for each chunk, because the keys may come from a generator that adds to this
      // list.
      const list = this.#list;
      const address =
        WASM_POSSIBLE && wasm !== null && list.settled ? wasm.admit(list.store, count, total) : 0;
      if (WASM_POSSIBLE && wasm !== null && address !== 0) {
        listHasChunk(wasm, count, address, list.width, list.count, this.bits, this.hashes);
        answers.set(wasm.results.subarray(0, count), seen);
      } else {
        const words = chunkHashes(wasm);
        for (let i = 0; i < count; i++) answers[seen + i] = +this.#has(words[2 * i], words[2 * i + 1]);
      }
      seen += count;
    });
    return seen === answers.length ? answers : answers.slice(0, seen);
  }

  /** Removes all keys. */
  clear(): void {
    this.#list = new PositionList(this.bits);
    this.#gauge.reset();
  }

  /** An independent list with the same keys. */
  copy(): HashList {
    return this.#like(this.#list.settle().copy());
  }

  /** Adds all keys of another list to this one: a merge of the two. */
  merge(other: HashList): this {
    this.#settleBoth(other, 'merge');
    this.#gauge.beforeMerge(() => this.onesCount() + other.onesCount() - this.sharedOnesCount(other));
    this.#list.unite(other.#list);
    this.#gauge.reset();
    return this;
  }

  /** A new list with the keys of both, the same as if all of them had been added to one list. */
  union(other: HashList): HashList {
    return this.copy().merge(other);
  }

  /**
   * A new list that answers "maybe" for every key that both may have; see
   * `BloomFilter.intersection`.
   */
  intersection(other: HashList): HashList {
    this.#settleBoth(other, 'intersect');
    return this.#like(this.#list.intersection(other.#list));
  }

  /**
   * Whether the other list has every position of this one. If not, it lacks some key of this one.
   */
  isSubsetOf(other: HashList): boolean {
    return this.sharedOnesCount(other) === this.#list.count;
  }

  /** Whether both have the same parameters and the same positions. */
  equals(other: HashList): boolean {
    return (
      areAlike(HashList, this, other) && this.isSubsetOf(other) && this.#list.count === other.#list.count
    );
  }

  /** The number of positions, which are the bits that would be 1. */
  onesCount(): number {
    return this.#list.settle().count;
  }

  /** The number of positions that both have: the inner product of survey 2.4. Reads both lists. */
  sharedOnesCount(other: HashList): number {
    this.#settleBoth(other, 'compare');
    return this.#list.sharedCount(other.#list);
  }

  /**
   * Estimates how many distinct keys were added, from the number of zeros (survey 2.4). Infinity if
   * no zero is left. `sizeEstimate` also gives an interval.
   */
  estimatedSize(): number {
    return this.#gauge.size();
  }

  /** Estimates the current false positive rate from the share of bits that would be 1. */
  estimatedFalsePositiveRate(): number {
    return rateFromOnes(this.bits, this.onesCount(), this.hashes);
  }

  /** The bytes that the list takes in memory, including positions that wait to be merged. */
  get byteLength(): number {
    return this.#list.byteLength;
  }

  /** The list as a frame: bytes to save or send, read back by `HashList.decode` anywhere. */
  encode(): Uint8Array<ArrayBuffer>;
  /** @internal */
  encode<T>(write: FrameWriter<T>): T;
  encode(write: FrameWriter<unknown> = encodeFrame): unknown {
    const { count } = this.#list.settle();
    return write(HASH_LIST_FRAME, {
      variant: 0,
      scheme: this.scheme,
      parameters: [this.bits, this.hashes, this.capacity ?? 0, count],
      payload: this.#list.store,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed list needs its key. */
  static decode(frame: Uint8Array, { key, ...options }: HashListDecodeOptions = {}): HashList {
    checkOptions('HashList.decode', options, ['overfull']);
    const { parameters, payload, scheme, start } = decodeFrame(HASH_LIST_FRAME, frame, key);
    const [bits, hashes, capacity, count] = parameters;
    const list = PositionList.fromBytes(bits, payload, count);
    const unsound = list.firstUnsound();
    if (unsound >= 0) {
      const message = `position ${unsound} of ${count} is not above the one before and below ${bits}`;
      throw new FrameError('payload', start + Math.floor((unsound * list.width) / 8), message);
    }
    return new HashList({ ...options, bits, hashes, capacity: capacity || undefined }, list, scheme);
  }

  toString(): string {
    return `HashList(${this.bits} bits, ${this.hashes} hashes, ${this.scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #add(a: number, b: number): boolean {
    if (!this.#gauge.before(1) && !this.#has(a, b)) this.#gauge.refuse();
    let changed = false;
    for (let i = 0; i < this.hashes; i++) {
      if (this.#list.insert(probeIndex(a, b, i, this.bits))) changed = true;
    }
    if (changed) this.#gauge.after(1);
    return changed;
  }

  #has(a: number, b: number): boolean {
    const list = this.#list;
    if (list.settled) return listHas(list.store.words, list.width, list.count, this.bits, a, b, this.hashes);
    for (let i = 0; i < this.hashes; i++) {
      if (!list.includes(probeIndex(a, b, i, this.bits))) return false;
    }
    return true;
  }

  #like(list: PositionList): HashList {
    const { bits, hashes, capacity } = this;
    return new HashList({ bits, hashes, capacity, overfull: this.#gauge.policy }, list, this.scheme);
  }

  #settleBoth(other: HashList, verb: string): void {
    checkAlike(areAlike(HashList, this, other), verb, this, other);
    this.#list.settle();
    other.#list.settle();
  }
}

const OPTIONS = ['bits', 'hashes', 'capacity', 'overfull', 'seed', 'key', 'hash'];
const CAPACITY_OPTIONS = ['capacity', 'falsePositiveRate', 'hashes', 'overfull', 'seed', 'key', 'hash'];

/**
 * The smallest k for which 2^36 bits are enough, by survey 2.1. Undefined if there is none; sizing
 * will then throw.
 */
function leastHashes({ capacity, falsePositiveRate }: HashListCapacityOptions): number | undefined {
  const n = checkInteger('capacity', capacity, 1);
  const rate = checkRate('falsePositiveRate', falsePositiveRate);
  for (let k = 1; k <= MAX_HASHES; k++) {
    // The limit is slightly below 2^36, because the true rate needs slightly more bits than this
    // formula says.
    if (bitsAsymptotic(k, n, rate) < MAX_BITS * (1 - 1e-6)) return k;
  }
  return undefined;
}
