/**
 * One whitelist from the address books of a group: the filters of all members, combined by OR
 * (Ceglowski, "Using Bloom Filters", 2004). It answers for the whole group and does not tell whose
 * contact an address is.
 *
 * It breaks down in two places. The node that combines the filters sees each of them. And a filter
 * that holds the keys of g members must be made for all of them, or it answers "maybe" to
 * everything: 20 books of 200 addresses in a filter for 200 at 1 % make a rate of 100 %. So members
 * make their filters by `emptyFilter`, which is sized for the union, and `add` refuses a filter
 * that would take the rate above the limit.
 */

import { BloomFilter, type SecretKey } from 'bloomery';
import { SharingError } from '../sharing-error.ts';

export interface CompositeWhitelistOptions {
  /** The number of distinct keys in all books together. */
  readonly capacity: number;
  /** The rate of false positives at capacity. Default 0.001. */
  readonly falsePositiveRate?: number;
  /** The key of the group, from `sharedKey`. Without one, every reader can test guesses. */
  readonly key?: SecretKey;
  /** The rate above which `add` refuses. Default: twice the rate at capacity. */
  readonly maxFalsePositiveRate?: number;
}

export class CompositeWhitelist {
  readonly #options: Required<Pick<CompositeWhitelistOptions, 'falsePositiveRate' | 'maxFalsePositiveRate'>>;
  readonly #newFilter: () => BloomFilter;
  #all: BloomFilter;
  #members = 0;

  constructor({
    capacity,
    falsePositiveRate = 0.001,
    key,
    maxFalsePositiveRate = Math.min(1, 2 * falsePositiveRate),
  }: CompositeWhitelistOptions) {
    this.#options = { falsePositiveRate, maxFalsePositiveRate };
    this.#newFilter = () => BloomFilter.forCapacity({ capacity, falsePositiveRate, ...(key && { key }) });
    this.#all = this.#newFilter();
  }

  /** An empty filter with the parameters of the group, for a member to add its keys to. */
  emptyFilter(): BloomFilter {
    return this.#newFilter();
  }

  /**
   * Adds the filter of a member. Throws a `SharingError` with the code `overfull`, and changes
   * nothing, if too many addresses would be found by mistake.
   */
  add(filter: BloomFilter): void {
    const all = this.#all.union(filter);
    const rate = all.estimatedFalsePositiveRate();
    const { maxFalsePositiveRate } = this.#options;
    if (rate > maxFalsePositiveRate) {
      throw new SharingError(
        'overfull',
        `Cannot combine filters: expected a false positive rate of at most ${maxFalsePositiveRate}, got ${rate.toPrecision(3)} with ${this.#members + 1} members`,
      );
    }
    this.#all = all;
    this.#members++;
  }

  /** Whether a member may have the address. False means that none has it. */
  has(address: string): boolean {
    return this.#all.has(address);
  }

  get members(): number {
    return this.#members;
  }

  /** The whitelist as a filter of the library: to send, to save, to estimate from. */
  toFilter(): BloomFilter {
    return this.#all.copy();
  }
}
