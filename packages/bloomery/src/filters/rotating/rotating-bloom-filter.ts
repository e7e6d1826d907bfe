/**
 * A Bloom filter that forgets. Keys go into the newest of a few generations, and lookups ask all of
 * them. A rotation drops the whole oldest generation and begins a new one. Adding a key again
 * renews it.
 *
 * It rotates in one of three ways:
 * - by hand: the program calls `rotate()`;
 * - by time: `ttlMs`, with the time passed in by `advance(nowMs)`, never read from a clock;
 * - when full: `rotateWhenFull`, as soon as the newest generation holds `capacity` distinct keys
 *   and another one is added.
 *
 * What it promises. The compound rate of all G generations, each filled to its capacity, is at most
 * the one asked for: each is sized for 1 - (1-P)^(1/G).
 *
 * By time, a generation lasts ttlMs/(G-1), and is dropped G such periods after it began. A key is
 * added at some moment of the first of them. So it is remembered for more than G-1 periods, that is
 * for at least ttlMs, and forgotten after at most G periods, ttlMs·G/(G-1): 1.5 times with three
 * generations, 1.14 with eight. This holds apart from false positives, and if `advance` is called
 * before each use.
 *
 * Periods begin at multiples of ttlMs/(G-1) since time 0, not when the filter was made. So two
 * filters with the same ttl rotate at the same moments on every machine, and can be merged
 * generation by generation. A time before the last one is ignored: clocks can be set back, but
 * forgotten keys cannot be restored.
 *
 * What it costs. G filters, each for `capacity` keys: 3 generations at 1 % take 11.9 bits for each
 * of the keys that may be in (one filter for all of them would take 9.6, and could not forget). A
 * lookup asks the generations in turn, newest first.
 *
 * Refused: rotating when full and by time at once. If a full generation were rotated early, the ttl
 * would not be kept. Size the filter for the keys of one period instead, and watch
 * `estimatedFalsePositiveRate()`.
 */

import { decodeFrame, encodeFrame } from '../../frames/frame.ts';
import { ROTATING_FRAME, ROTATIONS } from '../../frames/nested-kinds.ts';
import { checkSameScheme, type HashScheme } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import { eachChunk, type KeyBatch } from '../../kernel/batches/batch.ts';
import { hashKey, type KeyHash } from '../../kernel/batches/hash-key.ts';
import type { KeyHashes } from '../../kernel/batches/hash-keys.ts';
import { checkOptions } from '../../keys/check-options.ts';
import type { Key } from '../../keys/key.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkInteger } from '../../math/checks.ts';
import type { BloomFilter, BloomLayout } from '../bloom-filter.ts';
import { areAlike, checkAlike } from '../shared/alike.ts';
import {
  chainRate,
  firstHolder,
  firstHolders,
  hashAt,
  hasInChain,
  holdersOfChunk,
  ownHashes,
} from '../shared/filter-chain.ts';
import { checkNested, joinFilters, splitFilters } from '../shared/nested-frames.ts';
import {
  MAX_TIME,
  type RotatingBloomFilterOptions,
  type RotatingState,
  type Rotation,
  rotatingState,
} from './rotating-state.ts';

export type { RotatingBloomFilterOptions, Rotation } from './rotating-state.ts';

export class RotatingBloomFilter {
  readonly generations: number;
  readonly capacity: number;
  readonly bits: number;
  readonly hashes: number;
  readonly layout: BloomLayout;
  readonly rotation: Rotation;
  readonly ttlMs: number | undefined;
  readonly scheme: HashScheme;
  /** Newest first. */
  readonly #filters: BloomFilter[];
  /** The last time that was passed in if time rotates; otherwise the number of rotations so far. */
  #clock: number;
  /** The number of distinct keys in the newest generation if it rotates when full; otherwise 0. */
  #count: number;

  constructor(options: RotatingBloomFilterOptions);
  /** @internal */
  constructor(options: undefined, state: RotatingState);
  constructor(
    options: RotatingBloomFilterOptions | undefined,
    state = rotatingState(options as RotatingBloomFilterOptions),
  ) {
    const [{ bits, hashes, layout, capacity = 0, scheme }] = state.filters;
    this.generations = state.filters.length;
    this.capacity = capacity;
    this.bits = bits;
    this.hashes = hashes;
    this.layout = layout;
    this.scheme = scheme;
    this.rotation = state.rotation;
    this.ttlMs = state.ttlMs;
    this.#filters = [...state.filters];
    this.#clock = state.clock;
    this.#count = state.count;
    if (new.target === RotatingBloomFilter) Object.freeze(this);
  }

  /**
   * Adds a key to the newest generation. Returns true if it was certainly in no generation before,
   * because it is new or was forgotten.
   */
  add(key: Key): boolean {
    return this.addHash(hashKey(key, this.scheme));
  }

  /** True if the key may be remembered, false if it certainly is not. */
  has(key: Key): boolean {
    return this.hasHash(hashKey(key, this.scheme));
  }

  /** Adds a key by its hash; see `hashKey`. */
  addHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    const known = firstHolder(this.#filters, hash);
    if (known === 0) return false;
    if (this.#count === this.capacity) this.rotate();
    this.#filters[0].addHash(hash);
    if (this.rotation === 'when-full') this.#count++;
    return known < 0;
  }

  /** `has` by the key's hash; see `hashKey`. */
  hasHash(hash: KeyHash): boolean {
    return this.ageHash(hash) !== undefined;
  }

  /**
   * Adds many keys, faster than one by one. Returns how many were certainly in no generation
   * before.
   */
  addMany(keys: KeyBatch): number {
    let fresh = 0;
    eachChunk(keys, this.scheme, (count, wasm) => {
      fresh += this.#addChunk(ownHashes(this.scheme, count, wasm));
    });
    return fresh;
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    return hasInChain(this.#filters, keys, this.scheme);
  }

  /**
   * How many rotations ago a key was last added, 0 being the newest generation. Undefined if the
   * key is forgotten or was never added. A false positive of a newer generation can make a key look
   * younger than it is, never older.
   */
  age(key: Key): number | undefined {
    return this.ageHash(hashKey(key, this.scheme));
  }

  /** `age` by the key's hash; see `hashKey`. */
  ageHash(hash: KeyHash): number | undefined {
    checkSameScheme(hash.scheme, this.scheme);
    const holder = firstHolder(this.#filters, hash);
    return holder < 0 ? undefined : holder;
  }

  /** The ages of many keys, in order; -1 for keys that are not remembered. */
  ageMany(keys: KeyBatch): Int16Array {
    return firstHolders(this.#filters, keys, this.scheme);
  }

  /** Drops the oldest generation and begins a new one. Throws if the filter rotates by time. */
  rotate(): void {
    if (this.rotation === 'by-time') {
      throw new TypeError(
        `Cannot rotate: expected a filter without ttlMs, got ttlMs ${this.ttlMs} (use advance(nowMs))`,
      );
    }
    this.#rotate(1);
    this.#clock++;
  }

  /**
   * Sets the time: rotates as often as is due since the last time, and returns how often that was.
   * A time before the last one is ignored.
   */
  advance(nowMs: number): number {
    if (this.rotation !== 'by-time') {
      throw new TypeError(`Cannot advance: expected a filter made with ttlMs, got rotation ${this.rotation}`);
    }
    checkInteger('nowMs', nowMs, 0, MAX_TIME);
    if (nowMs <= this.#clock) return 0;
    const due = this.#periodAt(nowMs) - this.#periodAt(this.#clock);
    this.#rotate(due);
    this.#clock = nowMs;
    return due;
  }

  /** The time that was last passed in, or undefined if the filter does not rotate by time. */
  get nowMs(): number | undefined {
    return this.rotation === 'by-time' ? this.#clock : undefined;
  }

  /**
   * Number of the newest generation: the number of rotations so far, or of periods since time 0.
   */
  get turn(): number {
    return this.rotation === 'by-time' ? this.#periodAt(this.#clock) : this.#clock;
  }

  /** Forgets all keys. The time and the number of rotations stay. */
  clear(): void {
    for (const filter of this.#filters) filter.clear();
    this.#count = 0;
  }

  /** An independent filter with the same keys. */
  copy(): RotatingBloomFilter {
    const { rotation, ttlMs } = this;
    return new RotatingBloomFilter(undefined, {
      rotation,
      ttlMs,
      clock: this.#clock,
      count: this.#count,
      filters: this.#filters.map((filter) => filter.copy()),
    });
  }

  /**
   * Adds all keys of another filter, each to the generation of the same turn. The result is the
   * same as if one filter had received all keys. Both must have the same parameters and stand at
   * the same turn. Filters that rotate when full cannot be merged, because each rotates at moments
   * of its own.
   */
  merge(other: RotatingBloomFilter): this {
    checkAlike(areAlike(RotatingBloomFilter, this, other), 'merge', this, other);
    if (this.rotation === 'when-full') {
      throw new TypeError('Cannot merge filters that rotate when full: each turns at moments of its own');
    }
    if (this.turn !== other.turn) {
      throw new RangeError(
        `Cannot merge filters at turns ${this.turn} and ${other.turn}: advance both alike`,
      );
    }
    for (const [i, filter] of this.#filters.entries()) filter.merge(other.#filters[i]);
    this.#clock = Math.max(this.#clock, other.#clock);
    return this;
  }

  /** Whether both have the same parameters, turn, time and bits in each generation. */
  equals(other: RotatingBloomFilter): boolean {
    return (
      areAlike(RotatingBloomFilter, this, other) &&
      this.#clock === other.#clock &&
      this.#count === other.#count &&
      this.#filters.every((filter, i) => filter.equals(other.#filters[i]))
    );
  }

  /** A copy of one generation as a Bloom filter, by its age: 0 is the newest. */
  generation(age: number): BloomFilter {
    return this.#filters[checkInteger('age', age, 0, this.generations - 1)].copy();
  }

  /**
   * All remembered keys as one filter: the union of the generations. It is fuller than each of
   * them, so its rate is higher.
   */
  flattened(): BloomFilter {
    const [newest, ...older] = this.#filters;
    return older.reduce((union, filter) => union.merge(filter), newest.copy());
  }

  /**
   * Estimates how many distinct keys are remembered, from the zeros of the union.
   * `sizeEstimate(filter.flattened())` also gives an interval. A key that is in several generations
   * counts once. With many full generations no zero is left, and the estimate is Infinity; the sum
   * of `estimatedSizes()` is then an upper bound.
   */
  estimatedSize(): number {
    return this.flattened().estimatedSize();
  }

  /** Estimates how many distinct keys each generation holds, newest first. */
  estimatedSizes(): number[] {
    return this.#filters.map((filter) => filter.estimatedSize());
  }

  /**
   * Estimates the current false positive rate. It is an upper bound if generations have keys in
   * common, because their false positives then coincide.
   */
  estimatedFalsePositiveRate(): number {
    return chainRate(this.#filters);
  }

  /** The bytes that the bits of all generations take in memory. */
  get byteLength(): number {
    return this.#filters.reduce((sum, filter) => sum + filter.byteLength, 0);
  }

  /**
   * The filter as a frame, including the time: bytes to save or send, read back by
   * `RotatingBloomFilter.decode`.
   */
  encode(): Uint8Array<ArrayBuffer> {
    const payload = joinFilters(
      this.#filters.map((filter, age) => ({ filter, note: age === 0 ? this.#count : 0 })),
    );
    return encodeFrame(ROTATING_FRAME, {
      variant: ROTATIONS.indexOf(this.rotation),
      scheme: this.scheme,
      parameters: [this.generations, this.ttlMs ?? 0, this.#clock, payload.length],
      payload,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed filter needs its key. */
  static decode(
    frame: Uint8Array,
    { key, ...options }: { readonly key?: SecretKey } = {},
  ): RotatingBloomFilter {
    checkOptions('RotatingBloomFilter.decode', options, []);
    const { variant, parameters, payload, scheme, start } = decodeFrame(ROTATING_FRAME, frame, key);
    const [generations, ttlMs, clock] = parameters;
    const parts = splitFilters({ payload, start, count: generations, scheme, key });
    const rotation = ROTATIONS[variant];
    const newest = parts[0].filter;
    for (const [age, { filter, note, at }] of parts.entries()) {
      const alike = String(filter) === String(newest) && filter.capacity === newest.capacity;
      checkNested(alike, at, `expected generation ${age} to be ${newest}, got ${filter}`);
      checkNested(filter.capacity !== undefined, at, `generation ${age} has no capacity`);
      const counted = age === 0 && rotation === 'when-full';
      const ones = filter.onesCount();
      const sound = counted
        ? note <= (filter.capacity ?? 0) && ones <= note * filter.hashes && ones > 0 === note > 0
        : note === 0;
      checkNested(sound, at, `generation ${age} has ${ones} ones and cannot have ${note} keys`);
    }
    return new RotatingBloomFilter(undefined, {
      rotation,
      ttlMs: ttlMs || undefined,
      clock,
      count: parts[0].note,
      filters: parts.map(({ filter }) => filter),
    });
  }

  toString(): string {
    const { generations, capacity, bits, hashes, layout, rotation, ttlMs, scheme } = this;
    const how = ttlMs === undefined ? rotation : `${rotation} of ${ttlMs} ms`;
    return `RotatingBloomFilter(${generations} generations of ${capacity} keys, ${bits} bits, ${hashes} hashes, ${layout}, ${how}, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** Adds a chunk with the same result as adding one key after the other. */
  #addChunk(hashes: KeyHashes): number {
    const older = holdersOfChunk(this.#filters.slice(1), hashes);
    const counted = this.rotation === 'when-full';
    const room = !counted || this.capacity - this.#count >= hashes.length;
    let fresh = 0;
    if (room && older.every((holder) => holder < 0)) {
      fresh = this.#filters[0].addMany(hashes);
      if (counted) this.#count += fresh;
      return fresh;
    }
    // Whether a key is new depends on the keys before it. So keys are added one by one if an older
    // generation may have one of them, or if a rotation may be due.
    for (let i = 0; i < hashes.length; i++) if (this.addHash(hashAt(hashes, i))) fresh++;
    return fresh;
  }

  #rotate(times: number): void {
    if (times === 0) return;
    for (let i = 0; i < Math.min(times, this.generations); i++) {
      const oldest = this.#filters.pop()!;
      oldest.clear();
      this.#filters.unshift(oldest);
    }
    this.#count = 0;
  }

  /**
   * The number of the period in which a time lies. All integers stay below 2^53, so only the floor
   * rounds.
   */
  #periodAt(nowMs: number): number {
    return Math.floor((nowMs * (this.generations - 1)) / (this.ttlMs ?? 1));
  }
}
