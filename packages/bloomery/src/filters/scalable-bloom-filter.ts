/**
 * A Bloom filter for an unknown number of keys (Almeida, Baquero, Preguiça, Hutchison 2007). It
 * grows by stages, each a `BloomFilter` with more room and a lower rate than the one before.
 *
 * What it promises. No false negative, and a compound rate of at most the one asked for, at any
 * number of keys (math/scalable.ts). Each stage holds exactly its capacity when the next one
 * begins: only keys that are certainly in no stage yet are counted, so adding a key twice does not
 * fill the filter. The same keys in the same order give the same bytes, one by one or in batches.
 * In another order they may fall into other stages.
 *
 * What it costs in memory. Later stages have lower rates, and the newest one is partly empty. We
 * compared it at 1 %, with a first stage of 1000 keys, with a filter made for exactly the keys that
 * are there. Growth 2 and tightening 0.5 take 1.15 times as much memory at 1000 keys, and 2.4 times
 * at 100,000 and at a million. In between the ratio varies from 1.6 with a full last stage to 5.0
 * with a new one. A tightening of 0.85 (the paper recommends 0.8 to 0.9) takes 1.4, 2.0 and 1.7
 * times as much, and varies from 1.5 to 3.4. So it is better for filters that grow much, and worse
 * for those that do not grow.
 *
 * What it costs in time. A lookup of a non-member key asks every stage, log2(n/c₀) of them, the
 * newest first. If the number of keys is known even roughly, a `BloomFilter` of that size is
 * better.
 *
 * Refused: merging. The stages of the two filters would have to be aligned, and their rates add up,
 * so the first merge would break the bound. The keys of one filter cannot be extracted and added to
 * the other.
 */

import { halvesOf } from '../frames/counter-kinds.ts';
import { decodeFrame, encodeFrame } from '../frames/frame.ts';
import { SCALABLE_FRAME, scalablePlanOf } from '../frames/nested-kinds.ts';
import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../hashing/hash-scheme.ts';
import type { SecretKey } from '../hashing/secret-key.ts';
import { eachChunk, type KeyBatch } from '../kernel/batches/batch.ts';
import { hashKey, type KeyHash } from '../kernel/batches/hash-key.ts';
import type { KeyHashes } from '../kernel/batches/hash-keys.ts';
import { BitStore } from '../kernel/bits/bit-store.ts';
import { checkOptions } from '../keys/check-options.ts';
import type { Key } from '../keys/key.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkChoice } from '../math/checks.ts';
import type { Estimate } from '../math/estimates/zero-count.ts';
import { BLOOM_LAYOUTS } from '../math/layouts.ts';
import { checkScalablePlan, countKeys, estimateScalableSize, stagePlan } from '../math/scalable.ts';
import { sizeClassic } from '../math/size-classic.ts';
import { BloomFilter, type BloomLayout } from './bloom-filter.ts';
import { areAlike } from './shared/alike.ts';
import { checked, type EstimateOptions } from './shared/estimates.ts';
import { firstHolder, hashAt, hasInChain, holdersOfChunk, ownHashes } from './shared/filter-chain.ts';
import { checkNested, joinFilters, splitFilters } from './shared/nested-frames.ts';
import { overlappingRate } from './shared/overlapping-rate.ts';

export interface ScalableBloomFilterOptions extends HashOptions {
  /** The compound false positive rate that is never exceeded, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
  /** The number of keys that the first stage is made for. Default 1000. */
  readonly initialCapacity?: number;
  /** Ratio of each stage's capacity to the one before, from 1.25 to 1000. Default 2. */
  readonly growth?: number;
  /** Ratio of each stage's rate to the one before, strictly between 0 and 1. Default 0.5. */
  readonly tightening?: number;
  readonly layout?: BloomLayout;
}

/** The description of one stage. */
export interface ScalableStage {
  readonly capacity: number;
  /** The exact number of distinct keys that went into it. */
  readonly count: number;
  readonly bits: number;
  readonly hashes: number;
  /** Estimated from the share of its bits that are 1 now. */
  readonly estimatedFalsePositiveRate: number;
}

export class ScalableBloomFilter {
  readonly falsePositiveRate: number;
  readonly initialCapacity: number;
  readonly growth: number;
  readonly tightening: number;
  readonly layout: BloomLayout;
  readonly scheme: HashScheme;
  /** Newest first, which is the order of lookups. */
  readonly #filters: BloomFilter[] = [];
  /** How many keys went into each stage, newest first. */
  readonly #counts: number[] = [];

  constructor(options: ScalableBloomFilterOptions);
  /** @internal */
  constructor(options: ScalableBloomFilterOptions, scheme: HashScheme, stages: readonly Stage[]);
  constructor(options: ScalableBloomFilterOptions, scheme?: HashScheme, stages: readonly Stage[] = []) {
    checkOptions('ScalableBloomFilter', options, OPTIONS);
    const { falsePositiveRate, initialCapacity = 1000, growth = 2, tightening = 0.5 } = options;
    checkScalablePlan({ falsePositiveRate, initialCapacity, growth, tightening });
    this.falsePositiveRate = falsePositiveRate;
    this.initialCapacity = initialCapacity;
    this.growth = growth;
    this.tightening = tightening;
    this.layout = checkChoice('layout', options.layout ?? 'classic', BLOOM_LAYOUTS);
    this.scheme = scheme ?? hashScheme(options);
    for (const { filter, count } of stages) {
      this.#filters.unshift(filter);
      this.#counts.unshift(count);
    }
    if (stages.length === 0) this.#grow();
    if (new.target === ScalableBloomFilter) Object.freeze(this);
  }

  /**
   * Adds a key, unless it may be present already. Returns true if it was certainly absent before.
   */
  add(key: Key): boolean {
    return this.addHash(hashKey(key, this.scheme));
  }

  /** True if the key may have been added, false if it certainly was not. */
  has(key: Key): boolean {
    return this.hasHash(hashKey(key, this.scheme));
  }

  /** Adds a key by its hash; see `hashKey`. */
  addHash(hash: KeyHash): boolean {
    if (this.hasHash(hash)) return false;
    if (this.#room === 0) this.#grow();
    this.#filters[0].addHash(hash);
    this.#counts[0]++;
    return true;
  }

  /** `has` by the key's hash; see `hashKey`. */
  hasHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    return firstHolder(this.#filters, hash) >= 0;
  }

  /** Adds many keys, faster than one by one. Returns how many were certainly absent before. */
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

  /** Removes all keys, and all stages except an empty first one. */
  clear(): void {
    this.#filters.length = 0;
    this.#counts.length = 0;
    this.#grow();
  }

  /** Always throws: no merge keeps the promised rate. */
  merge(_other: ScalableBloomFilter): never {
    throw new TypeError(
      'Cannot merge ScalableBloomFilters: the rates of their stages would add up and break the promised one; add the keys again, or ask both',
    );
  }

  /** An independent filter with the same keys. */
  copy(): ScalableBloomFilter {
    const stages = this.#stages().map(({ filter, count }) => ({ filter: filter.copy(), count }));
    return new ScalableBloomFilter(this.#parameters(), this.scheme, stages);
  }

  /** Whether both have the same parameters, the same stages and the same bits. */
  equals(other: ScalableBloomFilter): boolean {
    return (
      areAlike(ScalableBloomFilter, this, other) &&
      this.#filters.length === other.#filters.length &&
      this.#filters.every(
        (filter, i) => filter.equals(other.#filters[i]) && this.#counts[i] === other.#counts[i],
      )
    );
  }

  /** The stages as plain data, oldest first. Reads all bits. */
  get stages(): readonly ScalableStage[] {
    return this.#stages().map(({ filter, count }) => ({
      capacity: filter.capacity ?? 0,
      count,
      bits: filter.bits,
      hashes: filter.hashes,
      estimatedFalsePositiveRate: filter.estimatedFalsePositiveRate(),
    }));
  }

  /**
   * The number of keys that were certainly new. It is a lower bound on the number of distinct keys
   * that were added, and close to it.
   */
  get leastSize(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /**
   * Estimates how many distinct keys were added: the keys that went in, plus the expected number of
   * keys that were mistaken for known ones.
   */
  estimatedSize(): number {
    const { inside, missing } = countKeys(this.#shapes());
    return inside + missing;
  }

  /** Estimates the current false positive rate of all stages together. */
  estimatedFalsePositiveRate(): number {
    return overlappingRate(this.#filters, this.scheme);
  }

  /** The bytes that the bits of all stages take in memory. */
  get byteLength(): number {
    return this.#filters.reduce((sum, filter) => sum + filter.byteLength, 0);
  }

  /**
   * The filter as a frame: bytes to save or send, read back by `ScalableBloomFilter.decode`
   * anywhere.
   */
  encode(): Uint8Array<ArrayBuffer> {
    const payload = joinFilters(this.#stages().map(({ filter, count }) => ({ filter, note: count })));
    return encodeFrame(SCALABLE_FRAME, {
      variant: BLOOM_LAYOUTS.indexOf(this.layout),
      scheme: this.scheme,
      parameters: [
        ...halvesOf(this.falsePositiveRate),
        ...halvesOf(this.growth),
        ...halvesOf(this.tightening),
        this.initialCapacity,
        this.#filters.length,
        payload.length,
      ],
      payload,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed filter needs its key. */
  static decode(
    frame: Uint8Array,
    { key, ...options }: { readonly key?: SecretKey } = {},
  ): ScalableBloomFilter {
    checkOptions('ScalableBloomFilter.decode', options, []);
    const { variant, parameters, payload, scheme, start } = decodeFrame(SCALABLE_FRAME, frame, key);
    const layout = BLOOM_LAYOUTS[variant];
    const count = SCALABLE_FRAME.count(parameters);
    const stages = splitFilters({ payload, start, count, scheme, key }).map(({ filter, note, at }, i) => {
      const { capacity = 0, hashes } = filter;
      const what = `stage ${i + 1} of ${count}`;
      const ones = filter.onesCount();
      checkNested(filter.layout === layout, at, `expected ${what} to be ${layout}, got ${filter}`);
      // Only the last stage may have room left.
      const sound = note <= capacity && (i === count - 1 || note === capacity) && capacity > 0;
      checkNested(sound, at, `${what} has ${note} keys and room for ${capacity}`);
      checkNested(
        ones <= hashes * note && ones > 0 === note > 0,
        at,
        `${what} has ${note} keys and ${ones} ones`,
      );
      return { filter, count: note };
    });
    return new ScalableBloomFilter({ ...scalablePlanOf(parameters), layout }, scheme, stages);
  }

  toString(): string {
    const { falsePositiveRate, initialCapacity, growth, tightening, layout, scheme } = this;
    return `ScalableBloomFilter(rate ${falsePositiveRate}, from ${initialCapacity} keys on, growth ${growth}, tightening ${tightening}, ${layout}, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  get #room(): number {
    return (this.#filters[0].capacity ?? 0) - this.#counts[0];
  }

  /**
   * Adds a chunk with the same result as adding its keys one by one. It adds them one by one if the
   * chunk may need a new stage.
   */
  #addChunk(hashes: KeyHashes): number {
    let fresh = 0;
    if (this.#room < hashes.length) {
      for (let i = 0; i < hashes.length; i++) if (this.addHash(hashAt(hashes, i))) fresh++;
      return fresh;
    }
    // In the newest stage, adding is also asking: a key that it may already have changes no bit.
    fresh = this.#filters[0].addMany(without(hashes, holdersOfChunk(this.#filters.slice(1), hashes)));
    this.#counts[0] += fresh;
    return fresh;
  }

  #grow(): void {
    const { capacity, falsePositiveRate } = stagePlan(this, this.#filters.length);
    const { layout, scheme } = this;
    const { bits, hashes } = sizeClassic({ capacity, falsePositiveRate, layout });
    const filter = new BloomFilter({ bits, hashes, layout, capacity }, BitStore.allocate(bits), scheme);
    this.#filters.unshift(filter);
    this.#counts.unshift(0);
  }

  /** Oldest first. */
  #stages(): Stage[] {
    return this.#filters.map((filter, i) => ({ filter, count: this.#counts[i] })).reverse();
  }

  /** @internal The stages as `scalableSizeEstimate` wants them. */
  #shapes() {
    return this.#stages().map(({ filter: { bits, hashes }, count }) => ({ bits, hashes, count }));
  }

  #parameters(): ScalableBloomFilterOptions {
    const { falsePositiveRate, initialCapacity, growth, tightening, layout } = this;
    return { falsePositiveRate, initialCapacity, growth, tightening, layout };
  }
}

/**
 * Estimates how many distinct keys were added, with an interval. The interval is narrow, because
 * only the false positives are uncertain.
 */
export function scalableSizeEstimate(filter: ScalableBloomFilter, options: EstimateOptions = {}): Estimate {
  return estimateScalableSize(filter.stages, checked('scalableSizeEstimate', options).confidence);
}

interface Stage {
  readonly filter: BloomFilter;
  readonly count: number;
}

const OPTIONS = [
  'falsePositiveRate',
  'initialCapacity',
  'growth',
  'tightening',
  'layout',
  'seed',
  'key',
  'hash',
] as const;

/** The hashes that no filter holds. */
function without({ scheme, words }: KeyHashes, holders: Int16Array): KeyHashes {
  const rest = new Int32Array(words.length);
  let length = 0;
  for (let i = 0; i < holders.length; i++) {
    if (holders[i] >= 0) continue;
    rest[2 * length] = words[2 * i];
    rest[2 * length + 1] = words[2 * i + 1];
    length++;
  }
  return { scheme, words: rest.subarray(0, 2 * length), length };
}
