/**
 * The size of a join before any row is joined, with intervals: distinct keys in common, far rows
 * that match, and pairs of rows, where a key may occur often on both sides.
 *
 * Distinct keys come from two Bloom filters with one hash (Mullin, "Estimating the size of a
 * relational join", 1993; survey 2.4). A filter does not count, so rows come from a sample of the
 * keys that is the same on both sides: a key is in it if the last bits of its hash are 0. With the
 * share q of the keys sampled, the sum of the sampled products divided by q is unbiased, and its
 * variance is the sum of their squares times (1-q)/q². A join in which one key makes most of the
 * pairs has a wide interval, or misses that key: then the estimate is too low, and its interval as
 * well.
 *
 * Filters that are too full for an estimate leave the distinct keys to the sample as well.
 *
 * Both sides are read whole, and only their filters and samples are kept.
 */

import { BloomFilter, type Estimate, intersectionEstimate } from 'bloomery';
import { normalQuantile } from 'bloomery/math';
import { hashKeyParts, type KeyType, keyText } from './join-key.ts';
import type { JoinSide, ReadOptions } from './join-side.ts';
import { hashLow } from './postgres-hash.ts';
import { agreeOn, fieldsOf, type OnColumn } from './semi-join.ts';

export interface JoinSizeOptions extends ReadOptions {
  readonly near: JoinSide;
  readonly far: JoinSide;
  readonly on: readonly OnColumn[];
  /** Types of the key's columns, for files on both sides. Default: text. */
  readonly types?: readonly KeyType[] | undefined;
  /** Bits of each filter, at least 0.4 for each key of the larger side. Default 2^24: 2 MiB. */
  readonly bits?: number;
  /** The most keys of a sample. Default 20,000. */
  readonly sampleKeys?: number;
  /** The probability that an interval holds the true value. Default 0.95. */
  readonly confidence?: number;
}

export interface JoinSize {
  /** Distinct keys that both sides have. */
  readonly keys: Estimate;
  /** Far rows that have a partner. */
  readonly farRows: Estimate;
  /** Rows of the join: a row for each pair. */
  readonly pairs: Estimate;
  /** The share of keys in the sample; 1 if all were counted, so that the rows are exact. */
  readonly sampledShare: number;
}

const SEED = 0x6a73;

export async function joinSizeEstimate(options: JoinSizeOptions): Promise<JoinSize> {
  const { bits = 2 ** 24, sampleKeys = 20_000, confidence = 0.95 } = options;
  const { nearOn, farOn, types } = await agreeOn(options, [], []);
  const near = new KeyCounts(types, bits, sampleKeys);
  const far = new KeyCounts(types, bits, sampleKeys);
  await near.read(options.near, nearOn, options);
  await far.read(options.far, farOn, options);
  const depth = Math.max(near.depth, far.depth);
  near.deepen(depth);
  far.deepen(depth);
  const sampledShare = 2 ** -depth;
  const farCounts: number[] = [];
  const products: number[] = [];
  for (const [key, count] of near.sample) {
    const other = far.sample.get(key)?.rows ?? 0;
    farCounts.push(other);
    products.push(other * count.rows);
  }
  const byFilters = intersectionEstimate(near.filter, far.filter, { confidence });
  const common = farCounts.map((rows) => Math.min(1, rows));
  return {
    keys: Number.isFinite(byFilters.standardError) ? byFilters : total(common, sampledShare, confidence),
    farRows: total(farCounts, sampledShare, confidence),
    pairs: total(products, sampledShare, confidence),
    sampledShare,
  };
}

/** The sum over all keys, from those in the sample. */
function total(values: readonly number[], share: number, confidence: number): Estimate {
  let sum = 0;
  let squares = 0;
  for (const value of values) {
    sum += value;
    squares += value * value;
  }
  const value = sum / share;
  const standardError = Math.sqrt(squares * (1 - share)) / share;
  const reach = normalQuantile((1 + confidence) / 2) * standardError;
  return { value, low: Math.max(sum, value - reach), high: value + reach, standardError };
}

interface Sampled {
  readonly hash: number;
  rows: number;
}

/** The keys of one side: a filter of all, and counts of those in the sample. */
class KeyCounts {
  readonly filter: BloomFilter;
  readonly sample = new Map<string, Sampled>();
  /** Last bits of a hash that must be 0 in the sample. */
  depth = 0;
  readonly #types: readonly KeyType[];
  readonly #most: number;

  constructor(types: readonly KeyType[], bits: number, most: number) {
    this.filter = new BloomFilter({ bits, hashes: 1 });
    this.#types = types;
    this.#most = most;
  }

  async read(side: JoinSide, on: readonly string[], { signal }: ReadOptions): Promise<void> {
    const fields = fieldsOf(on, [], this.#types);
    for await (const batch of side.read(fields, { signal })) {
      const keys: string[] = [];
      for (const row of batch) {
        const parts = fields.keys.map((place) => row[place]);
        const key = keyText(parts);
        if (key === null) continue;
        keys.push(key);
        hashKeyParts(this.#types, parts as string[], SEED);
        this.#count(key, hashLow());
      }
      this.filter.addMany(keys);
    }
  }

  #count(key: string, hash: number): void {
    if (!isIn(hash, this.depth)) return;
    const known = this.sample.get(key);
    if (known !== undefined) known.rows++;
    else {
      this.sample.set(key, { hash, rows: 1 });
      if (this.sample.size > this.#most) this.deepen(this.depth + 1);
    }
  }

  deepen(depth: number): void {
    this.depth = depth;
    for (const [key, { hash }] of this.sample) if (!isIn(hash, depth)) this.sample.delete(key);
  }
}

function isIn(hash: number, depth: number): boolean {
  return depth === 0 || hash << (32 - depth) === 0;
}
