/**
 * The dictionary attack: an attacker has filters of a set, and a list of keys that could be in it,
 * such as all addresses of a leaked mailing list. It asks the filters about each.
 *
 * It is here so that the page about private sharing has figures of our own code, and so that users
 * can attack what they are about to publish. docs/guide/private.md has the table.
 */

import type { BloomFilter } from 'bloomery';
import type { RandomisedFilter } from '../filters/randomised-filter.ts';

/** Evidence about the keys of a dictionary, which grows with every filter that is intercepted. */
export class DictionaryAttack {
  readonly #dictionary: readonly string[];
  /** Logarithm of the likelihood ratio of each key: member to non-member. */
  readonly #evidence: Float64Array;

  /**
   * The order of the dictionary decides between keys with equal evidence, so it should be random.
   */
  constructor(dictionary: readonly string[]) {
    this.#dictionary = dictionary;
    this.#evidence = new Float64Array(dictionary.length);
  }

  /** A filter that the attacker can ask: a plain one, or a keyed one with its key. */
  intercept(filter: BloomFilter): void {
    const gain = -Math.log(filter.estimatedFalsePositiveRate());
    const answers = filter.hasMany(this.#dictionary);
    for (let i = 0; i < answers.length; i++) {
      // A key that is missing in one filter is no member.
      this.#evidence[i] += answers[i] === 1 ? gain : Number.NEGATIVE_INFINITY;
    }
  }

  /** A randomised filter. No bit of it proves anything. */
  interceptRandomised(filter: RandomisedFilter): void {
    const ratios = filter.likelihoodRatios(this.#dictionary);
    for (let i = 0; i < ratios.length; i++) this.#evidence[i] += Math.log(ratios[i]);
  }

  /** Keys that are more likely in the set than before. With plain filters: all that passed. */
  suspects(): string[] {
    return this.#dictionary.filter((_, i) => this.#evidence[i] > 0);
  }

  /** The most likely keys. */
  best(count: number): string[] {
    return Array.from(this.#evidence.keys())
      .sort((a, b) => this.#evidence[b] - this.#evidence[a] || a - b)
      .slice(0, count)
      .map((i) => this.#dictionary[i]);
  }
}
