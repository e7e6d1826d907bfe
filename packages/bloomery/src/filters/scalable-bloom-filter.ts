/**
 * A Bloom filter for a number of keys that nobody knows (Almeida, Baquero, Preguiça, Hutchison 2007): it grows by
 * stages, each a `BloomFilter` with more room and a lower rate than the one before.
 *
 * What it promises. No false negative, and a compound rate of at most the one asked for, at any number of keys
 * (math/scalable.ts). Each stage holds exactly its capacity when the next one begins: keys are counted by "certainly not in
 * any stage yet", so adding a key twice does not fill it. One by one or in batches, the same keys in the same order
 * make the same bytes; in another order they may fall into other stages.
 *
 * What it costs. Memory: later stages have lower rates, and the newest one is partly empty. Measured at 1 %, from 1000 keys
 * on, against a filter made for exactly the keys that are there, growth 2 and tightening 0.5: 1.15 times as much at 1000
 * keys, 2.4 at 100,000 and at a million; between 1.6 with a full last stage and 5.0 with a new one. A tightening of
 * 0.85 (the paper likes 0.8 to 0.9) takes 1.4, 2.0 and 1.7, and between 1.5 and 3.4: better for much growth, worse
 * for none. Time: a key that is not in asks every stage, log2(n/c₀) of them, the newest first. Who knows the
 * number of keys, even roughly, does better with a `BloomFilter` of that size.
 *
 * Refused: merging. The stages of two would have to be lined up, and their rates add up, so the bound would break with
 * the first merge; and keys cannot be taken out of one to be added to the other.
 */

import { halvesOf } from '../frames/counter-kinds.ts';
import { decodeFrame, encodeFrame } from '../frames/frame.ts';
import { BLOOM_LAYOUTS } from '../frames/frame-kinds.ts';
import { SCALABLE_FRAME, scalablePlanOf } from '../frames/nested-kinds.ts';
import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../hashing/hash-scheme.ts';
import type { SecretKey } from '../hashing/secret-key.ts';
import { eachChunk, type KeyBatch } from '../kernel/batches/batch.ts';
import { hashKey, type KeyHash } from '../kernel/batches/hash-key.ts';
import type { KeyHashes } from '../kernel/batches/hash-keys.ts';
import { BitStore } from '../kernel/bits/bit-store.ts';
import type { Key } from '../keys/key.ts';
import { checkChoice } from '../math/checks.ts';
import { checkScalablePlan, countKeys, estimateScalableSize, stagePlan } from '../math/scalable.ts';
import { sizeClassic } from '../math/size-classic.ts';
import type { Estimate } from '../math/zero-count.ts';
import { BloomFilter, type BloomLayout } from './bloom-filter.ts';
import type { EstimateOptions } from './shared/estimates.ts';
import {
  chainRate,
  firstHolder,
  hashAt,
  hasInChain,
  holdersOfChunk,
  ownHashes,
} from './shared/filter-chain.ts';
import { checkNested, joinFilters, splitFilters } from './shared/nested-frames.ts';
import { checkOptions } from './shared/options.ts';

export interface ScalableBloomFilterOptions extends HashOptions {
  /** The compound rate that is never exceeded, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
  /** The keys that the first stage is made for. Default 1000. */
  readonly initialCapacity?: number;
  /** How much larger each stage is than the one before, from 1.25 to 1000. Default 2. */
  readonly growth?: number;
  /** The rate of each stage as a share of the one before, strictly between 0 and 1. Default 0.5. */
  readonly tightening?: number;
  readonly layout?: BloomLayout;
}

/** What there is to know of a stage. */
export interface ScalableStage {
  readonly capacity: number;
  /** The distinct keys that went into it, exactly. */
  readonly count: number;
  readonly bits: number;
  readonly hashes: number;
  /** By the share of its bits that are 1, now. */
  readonly estimatedFalsePositiveRate: number;
}

export class ScalableBloomFilter {
  readonly falsePositiveRate: number;
  readonly initialCapacity: number;
  readonly growth: number;
  readonly tightening: number;
  readonly layout: BloomLayout;
  readonly scheme: HashScheme;
  /** Newest first, in the order in which they are asked. */
  readonly #filters: BloomFilter[] = [];
  /** How many keys went into each. */
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
  }

  /** Adds a key, unless it may be in already. True if it was certainly not in before. */
  add(key: Key): boolean {
    return this.addHash(hashKey(key, this.scheme));
  }

  /** Maybe (true) or certainly not (false). */
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

  /** Adds many keys at once, the fast way. Returns how many of them were certainly not in before. */
  addMany(keys: KeyBatch): number {
    let fresh = 0;
    eachChunk(keys, this.scheme, (count, wasm) => {
      fresh += this.#addChunk(ownHashes(this.scheme, count, wasm));
    });
    return fresh;
  }

  /** One byte a key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    return hasInChain(this.#filters, keys, this.scheme);
  }

  /** Removes all keys, and all stages but an empty first one. */
  clear(): void {
    this.#filters.length = 0;
    this.#counts.length = 0;
    this.#grow();
  }

  /** Refused, with the reason: there is no way that keeps the rate. */
  merge(_other: ScalableBloomFilter): never {
    throw new TypeError(
      'ScalableBloomFilters cannot be merged: the rates of their stages would add up and break the promised one. Add the keys again, or ask both',
    );
  }

  /** A filter of its own with the same keys. */
  copy(): ScalableBloomFilter {
    const stages = this.#stages().map(({ filter, count }) => ({ filter: filter.copy(), count }));
    return new ScalableBloomFilter(this.#parameters(), this.scheme, stages);
  }

  /** Same parameters, same stages, same bits. */
  equals(other: ScalableBloomFilter): boolean {
    return (
      other instanceof ScalableBloomFilter &&
      String(this) === String(other) &&
      this.#filters.length === other.#filters.length &&
      this.#filters.every(
        (filter, i) => filter.equals(other.#filters[i]) && this.#counts[i] === other.#counts[i],
      )
    );
  }

  /** The stages, oldest first: plain data. A pass over all bits. */
  get stages(): readonly ScalableStage[] {
    return this.#stages().map(({ filter, count }) => ({
      capacity: filter.capacity ?? 0,
      count,
      bits: filter.bits,
      hashes: filter.hashes,
      estimatedFalsePositiveRate: filter.estimatedFalsePositiveRate(),
    }));
  }

  /** The keys that were certainly new: a lower bound of the distinct keys that were added, and nearly all of them. */
  get leastSize(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** How many distinct keys were added: those that went in, and those that are expected to have been taken for known. */
  estimatedSize(): number {
    const { inside, missing } = countKeys(this.#shapes());
    return inside + missing;
  }

  /** The rate at which keys that were not added are answered with "maybe" now, all stages together. */
  estimatedFalsePositiveRate(): number {
    return chainRate(this.#filters.map((filter) => filter.estimatedFalsePositiveRate()));
  }

  /** The bytes that the bits of all stages take in memory. */
  get byteLength(): number {
    return this.#filters.reduce((sum, filter) => sum + filter.byteLength, 0);
  }

  /** The filter as a frame: bytes to save or send, read back by `ScalableBloomFilter.decode` anywhere. */
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

  /** Reads a frame. What is wrong with it is a `FrameError`; a keyed filter needs its key. */
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

  get #room(): number {
    return (this.#filters[0].capacity ?? 0) - this.#counts[0];
  }

  /** Adds a chunk as one by one would: where a new stage may be needed, that is what is done. */
  #addChunk(hashes: KeyHashes): number {
    let fresh = 0;
    if (this.#room < hashes.length) {
      for (let i = 0; i < hashes.length; i++) if (this.addHash(hashAt(hashes, i))) fresh++;
      return fresh;
    }
    // In the newest stage adding is asking: a key that it may have changes no bit.
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

/** How many distinct keys were added, with an interval. Narrow: only false positives are uncertain. */
export function scalableSizeEstimate(filter: ScalableBloomFilter, options: EstimateOptions = {}): Estimate {
  return estimateScalableSize(filter.stages, options.confidence);
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
] as const;

/** The hashes that nobody holds. */
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
