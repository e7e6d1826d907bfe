/**
 * The attenuated Bloom filter (Rhea and Kubiatowicz, Probabilistic location and routing, INFOCOM
 * 2002; survey 6.2): an array of Bloom filters by distance. Level 0 holds the keys of this node,
 * level i the keys that can be reached over i hops.
 *
 * How nodes use it. Each node keeps one such array for itself and one for each neighbour, as the
 * neighbour sent it. It sends its own array after `absorb(neighbour)` for all of them: the keys in
 * the neighbour's level i lie i+1 hops away from here, so they go into level i+1, and the
 * neighbour's last level falls off the end. A query is passed to the neighbour whose array gives
 * the smallest distance.
 *
 * What it promises. If a key is reachable within fewer hops than there are levels, `distance` is
 * never larger than the true distance, so there is no false negative. It is smaller when a level in
 * front of the right one has a false positive, with probability 1 - Π(1 - rate of each level in
 * front). The sender of a misrouted query notices when the hops are used up, and takes another way
 * (survey 6.2: "a more expensive algorithm").
 *
 * Where it breaks down. Level i holds the keys of all nodes i hops away, and their number grows
 * with i. Deeper levels are fuller and have more false positives; beyond a few hops all of them say
 * yes. Rhea and Kubiatowicz give them less weight for that reason ("attenuated");
 * `estimatedFalsePositiveRate(level)` is the number to weigh by. An array also travels back to its
 * origin: if two neighbours exchange arrays, level 2 of a node holds its own keys again. That is
 * right for "reachable over exactly two hops" and does not change the smallest distance.
 *
 * Widths. `bits` is one number, or one for each level. Level i of a node with g neighbours holds
 * the keys of about (g - 1)^i nodes. So if all levels have one size, the first are nearly empty and
 * the last is full. Widths that grow at about that pace have about the same rate at each level, and
 * cost little more than the last one: 2, 8 and 32 kbit in the place of three times 32. The widths
 * of an array differ by powers of two, and `absorb` and `merge` fold a level that is wider than its
 * target.
 *
 * `absorb` and `merge` cannot spread a narrow level over a wide one: each bit would become several,
 * and the result would be as full as before. So an array that others pass on needs its full width
 * at each level, because its nearest level will be the deepest one of a node further away. On the
 * wire that costs little, since a nearly empty level codes to its entropy. A node that only asks,
 * and passes nothing on, keeps the folded form.
 */

import { decodeFrame, encodeFrame } from '../frames/frame.ts';
import { ATTENUATED_FRAME } from '../frames/nested-kinds.ts';
import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../hashing/hash-scheme.ts';
import type { SecretKey } from '../hashing/secret-key.ts';
import type { KeyBatch } from '../kernel/batches/batch.ts';
import { hashKey, type KeyHash } from '../kernel/batches/hash-key.ts';
import { BitStore } from '../kernel/bits/bit-store.ts';
import { checkOptions } from '../keys/check-options.ts';
import type { Key } from '../keys/key.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkInteger, MAX_BITS, wrongValue } from '../math/checks.ts';
import { sizeClassic } from '../math/size-classic.ts';
import { BloomFilter, type BloomLayout } from './bloom-filter.ts';
import { areAlike, checkAlike } from './shared/alike.ts';
import { chainRate, firstHolder, firstHolders, hasInChain } from './shared/filter-chain.ts';
import { checkNested, joinFilters, splitFilters } from './shared/nested-frames.ts';

export interface AttenuatedBloomFilterOptions extends HashOptions {
  /** The number of levels, d, from 1 to 255. Distances range from 0 to d - 1. */
  readonly levels: number;
  /**
   * m of each level, or a list with m of every level, nearest first. From 1 to 2^36; a multiple of
   * `hashes` in the partitioned layout. The widths of a list differ by powers of two.
   */
  readonly bits: number | readonly number[];
  /** The number of hashes per key, k. From 1 to 255. */
  readonly hashes: number;
  readonly layout?: BloomLayout;
  /**
   * The number of distinct keys that a level is meant for. Stored in frames, and not used
   * otherwise.
   */
  readonly capacity?: number | undefined;
}

export interface AttenuatedCapacityOptions extends HashOptions {
  readonly levels: number;
  /** The number of distinct keys of the fullest level, which is usually the deepest. */
  readonly capacity: number;
  /** The false positive rate of one level with `capacity` keys in it. */
  readonly falsePositiveRate: number;
  readonly layout?: BloomLayout;
}

export class AttenuatedBloomFilter {
  readonly levels: number;
  /** m of the widest level. */
  readonly bits: number;
  /** m of every level, nearest first. */
  readonly widths: readonly number[];
  readonly hashes: number;
  readonly layout: BloomLayout;
  readonly capacity: number | undefined;
  readonly scheme: HashScheme;
  readonly #levels: readonly BloomFilter[];

  /** Sized by bits and hashes; `AttenuatedBloomFilter.forCapacity` sizes by capacity and rate. */
  constructor(options: AttenuatedBloomFilterOptions);
  /** @internal */
  constructor(options: undefined, filters: readonly BloomFilter[]);
  constructor(
    options: AttenuatedBloomFilterOptions | undefined,
    filters: readonly BloomFilter[] = emptyLevels(options as AttenuatedBloomFilterOptions),
  ) {
    const [{ hashes, layout, capacity, scheme }] = filters;
    this.levels = filters.length;
    this.widths = Object.freeze(filters.map(({ bits }) => bits));
    this.bits = Math.max(...this.widths);
    this.hashes = hashes;
    this.layout = layout;
    this.capacity = capacity;
    this.scheme = scheme;
    this.#levels = filters;
    if (new.target === AttenuatedBloomFilter) Object.freeze(this);
  }

  /** Makes levels of the smallest size that keeps the rate with `capacity` distinct keys in one. */
  static forCapacity(options: AttenuatedCapacityOptions): AttenuatedBloomFilter {
    checkOptions('AttenuatedBloomFilter.forCapacity', options, CAPACITY_OPTIONS);
    const { capacity, falsePositiveRate, layout = 'classic', ...rest } = options;
    const { bits, hashes } = sizeClassic({ capacity, falsePositiveRate, layout });
    return new AttenuatedBloomFilter({ ...rest, bits, hashes, layout, capacity });
  }

  /** Adds a key at a distance. Returns true if it was certainly not at that distance before. */
  add(key: Key, distance = 0): boolean {
    return this.#levelAt(distance).add(key);
  }

  /** Adds a key by its hash; see `hashKey`. */
  addHash(hash: KeyHash, distance = 0): boolean {
    return this.#levelAt(distance).addHash(hash);
  }

  /**
   * Adds many keys at one distance. Returns how many were certainly not at that distance before.
   */
  addMany(keys: KeyBatch, distance = 0): number {
    return this.#levelAt(distance).addMany(keys);
  }

  /** The smallest distance at which the key may be, or undefined if it certainly is at none. */
  distance(key: Key): number | undefined {
    return this.distanceHash(hashKey(key, this.scheme));
  }

  /** `distance` by the key's hash; see `hashKey`. */
  distanceHash(hash: KeyHash): number | undefined {
    checkSameScheme(hash.scheme, this.scheme);
    const level = firstHolder(this.#levels, hash);
    return level < 0 ? undefined : level;
  }

  /** The distances of many keys, in order; -1 for keys that are at none. */
  distanceMany(keys: KeyBatch): Int16Array {
    return firstHolders(this.#levels, keys, this.scheme);
  }

  /** Whether the key may be at any of the distances. */
  has(key: Key): boolean {
    return this.distance(key) !== undefined;
  }

  /** `has` by the key's hash; see `hashKey`. */
  hasHash(hash: KeyHash): boolean {
    return this.distanceHash(hash) !== undefined;
  }

  /** One byte per key, in order: 1 maybe at some distance, 0 certainly at none. */
  hasMany(keys: KeyBatch): Uint8Array {
    return hasInChain(this.#levels, keys, this.scheme);
  }

  /** A copy of one level as a Bloom filter. */
  level(distance: number): BloomFilter {
    return this.#levelAt(distance).copy();
  }

  /**
   * Takes in the keys of a neighbour, one hop further away: its level i goes into level i + 1,
   * folded if it is wider than that. Its last level is dropped.
   */
  absorb(neighbour: AttenuatedBloomFilter): this {
    checkAlike(this.#takes(neighbour, 1), 'absorb', this, neighbour);
    // Deepest level first, so that a filter that absorbs itself reads each level before changing
    // it.
    for (let i = this.levels - 1; i > 0; i--) mergeFolded(this.#levels[i], neighbour.#levels[i - 1]);
    return this;
  }

  /**
   * The array as a neighbour of this node sees it: one hop further away, with an empty level 0. An
   * array whose levels grow cannot be shifted, because a narrow level would have to be spread.
   */
  shifted(): AttenuatedBloomFilter {
    const shifted = this.copy();
    shifted.clear();
    return shifted.absorb(this);
  }

  /**
   * Merges another array of the same node into this one, level by level. Levels that are wider than
   * those of this array are folded.
   */
  merge(other: AttenuatedBloomFilter): this {
    checkAlike(this.#takes(other, 0), 'merge', this, other);
    for (const [i, filter] of this.#levels.entries()) mergeFolded(filter, other.#levels[i]);
    return this;
  }

  /** Removes the keys of one distance, or of all distances if none is given. */
  clear(distance?: number): void {
    if (distance !== undefined) this.#levelAt(distance).clear();
    else for (const filter of this.#levels) filter.clear();
  }

  /** An independent array with the same keys. */
  copy(): AttenuatedBloomFilter {
    return new AttenuatedBloomFilter(
      undefined,
      this.#levels.map((filter) => filter.copy()),
    );
  }

  /** Whether both have the same parameters and the same bits at each level. */
  equals(other: AttenuatedBloomFilter): boolean {
    return (
      areAlike(AttenuatedBloomFilter, this, other) &&
      this.#levels.every((filter, i) => filter.equals(other.#levels[i]))
    );
  }

  /**
   * Estimates how many distinct keys are at a distance, from the zeros of its level.
   * `sizeEstimate(level(i))` also gives an interval.
   */
  estimatedSize(distance: number): number {
    return this.#levelAt(distance).estimatedSize();
  }

  /**
   * Estimates the false positive rate of one level. Without a distance, estimates the rate at which
   * some level says "maybe" to a key that is in none. That is an upper bound if levels have keys in
   * common, because their false positives then coincide.
   */
  estimatedFalsePositiveRate(distance?: number): number {
    if (distance !== undefined) return this.#levelAt(distance).estimatedFalsePositiveRate();
    return chainRate(this.#levels);
  }

  /** The bytes that the bits of all levels take in memory. */
  get byteLength(): number {
    return this.#levels.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /**
   * The array as a frame: bytes to save or send, read back by `AttenuatedBloomFilter.decode`
   * anywhere.
   */
  encode(): Uint8Array<ArrayBuffer> {
    const payload = joinFilters(this.#levels.map((filter) => ({ filter, note: 0 })));
    return encodeFrame(ATTENUATED_FRAME, {
      variant: 0,
      scheme: this.scheme,
      parameters: [this.levels, payload.length],
      payload,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed one needs its key. */
  static decode(
    frame: Uint8Array,
    { key, ...options }: { readonly key?: SecretKey } = {},
  ): AttenuatedBloomFilter {
    checkOptions('AttenuatedBloomFilter.decode', options, []);
    const { parameters, payload, scheme, start } = decodeFrame(ATTENUATED_FRAME, frame, key);
    const parts = splitFilters({ payload, start, count: parameters[0], scheme, key });
    const first = parts[0].filter;
    for (const [i, { filter, note, at }] of parts.entries()) {
      const alike =
        isFold(filter.bits, first.bits) &&
        filter.hashes === first.hashes &&
        filter.layout === first.layout &&
        filter.capacity === first.capacity;
      checkNested(alike, at, `expected level ${i} to be ${first}, got ${filter}`);
      checkNested(note === 0, at, `expected 0 beside level ${i}, got ${note}`);
    }
    return new AttenuatedBloomFilter(
      undefined,
      parts.map(({ filter }) => filter),
    );
  }

  toString(): string {
    const { levels, widths, hashes, layout, scheme } = this;
    const bits = new Set(widths).size === 1 ? widths[0] : widths.join('/');
    return `AttenuatedBloomFilter(${levels} levels, ${bits} bits, ${hashes} hashes, ${layout}, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #levelAt(distance: number): BloomFilter {
    return this.#levels[checkInteger('distance', distance, 0, this.levels - 1)];
  }

  /** Whether the levels of another array can go into those of this one, `shift` levels deeper. */
  #takes(other: AttenuatedBloomFilter, shift: number): boolean {
    if (!(other instanceof AttenuatedBloomFilter) || other.levels !== this.levels) return false;
    if (other.layout !== this.layout) return false;
    if (other.hashes !== this.hashes || other.scheme.id !== this.scheme.id) return false;
    return this.widths.every((bits, i) => {
      const source = i < shift ? bits : other.widths[i - shift];
      return source >= bits && isFold(source, bits);
    });
  }
}

const MAX_LEVELS = 255;
const OPTIONS = ['levels', 'bits', 'hashes', 'layout', 'capacity', 'seed', 'key', 'hash'];
const CAPACITY_OPTIONS = ['levels', 'capacity', 'falsePositiveRate', 'layout', 'seed', 'key', 'hash'];

function emptyLevels(options: AttenuatedBloomFilterOptions): BloomFilter[] {
  checkOptions('AttenuatedBloomFilter', options, OPTIONS);
  const { levels, bits, hashes, layout = 'classic', capacity } = options;
  checkInteger('levels', levels, 1, MAX_LEVELS);
  const scheme = hashScheme(options);
  return widthsOf(levels, bits).map((width) => {
    checkInteger('bits', width, 1, MAX_BITS);
    return new BloomFilter({ bits: width, hashes, layout, capacity }, BitStore.allocate(width), scheme);
  });
}

/** The width of every level. */
function widthsOf(levels: number, bits: number | readonly number[]): readonly number[] {
  if (!Array.isArray(bits)) return Array.from({ length: levels }, () => bits as number);
  if (bits.length !== levels) throw wrongValue('bits', `${levels} widths, one for each level`, bits.length);
  const apart = bits.find((width) => !isFold(width, bits[0]));
  if (apart !== undefined) throw wrongValue('bits', `${bits[0]} times a power of two`, apart);
  return bits;
}

/** Whether one of two widths is the other, halved some number of times. */
function isFold(a: number, b: number): boolean {
  return Number.isInteger(Math.log2(a / b));
}

/** Merges a level into one of the same width, or of a smaller one. */
function mergeFolded(target: BloomFilter, source: BloomFilter): void {
  const halvings = Math.log2(source.bits / target.bits);
  target.merge(halvings === 0 ? source : source.halve(halvings));
}
