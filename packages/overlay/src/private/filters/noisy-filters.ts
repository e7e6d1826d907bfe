/**
 * The noisy filters of Ceglowski's article ("Using Bloom Filters", 2004): each has a false positive
 * rate of 50 %, each has other hash functions, and a reader who holds several of them sees their
 * product: 3 % with five.
 *
 * It is a dial, and not a lock. An interceptor that collects filters sees exactly what a friend
 * sees, and a member always passes all of them. In a dictionary of 100,000 addresses, one filter of
 * 200 contacts leaves a list of 50,100 that holds all 200; ten leave about 300
 * (docs/guide/private.md has the table). Use it where a reader may hold one or two of your
 * filters and no list of addresses; otherwise `keyedFilter`.
 */

import { BloomFilter } from 'bloomery';

/** The rate of one filter in the article. */
const RATE = 0.5;

export interface NoisyFilterOptions {
  /** The number of this filter in the series: each number has hash functions of its own. */
  readonly issue: number;
  /** Rate of false positives of the single filter. Default 0.5. */
  readonly falsePositiveRate?: number;
}

/** Makes one filter of the series. */
export function noisyFilter(keys: Iterable<string>, options: NoisyFilterOptions): BloomFilter {
  const { issue, falsePositiveRate = RATE } = options;
  const distinct = new Set(keys);
  const filter = BloomFilter.forCapacity({
    capacity: Math.max(1, distinct.size),
    falsePositiveRate,
    seed: issue,
  });
  filter.addMany(distinct);
  return filter;
}

/** The filters of one friend that were collected so far. */
export class NoisyFilters {
  readonly #filters = new Map<string, BloomFilter>();

  /**
   * Keeps a filter. Returns false, and keeps the earlier one, if there is one with the same hash
   * functions: a second copy makes nothing sharper.
   */
  add(filter: BloomFilter): boolean {
    const { id } = filter.scheme;
    if (this.#filters.has(id)) return false;
    this.#filters.set(id, filter);
    return true;
  }

  get size(): number {
    return this.#filters.size;
  }

  /** Whether all filters say "maybe": `check_noisy_filters` of the article. */
  has(key: string): boolean {
    for (const filter of this.#filters.values()) if (!filter.has(key)) return false;
    return true;
  }

  /** The rate of all filters together, from their fill. It is 1 without any. */
  estimatedFalsePositiveRate(): number {
    let rate = 1;
    for (const filter of this.#filters.values()) rate *= filter.estimatedFalsePositiveRate();
    return rate;
  }
}
