/**
 * How full a filter is: the number of keys that follows from its ones, and the reaction to more
 * keys than it was made for. Every filter whose bits, counters or positions can be counted holds
 * one.
 *
 * Overfull. The rate of an overfull filter rises silently; a caller that asked for a rate may want
 * to know. Two facts prove that a filter has more keys than its capacity:
 *
 * - The keys that were certainly new when they were added are more than the capacity. They are
 *   counted one by one, so a filter that was filled here refuses the first new key beyond its
 *   capacity. Keys that may be in already never count: they change no bit, and can be added again
 *   at any time.
 * - The ones exceed by five standard deviations the number that `capacity` keys set on average, or
 *   exceed `capacity` times k, which no `capacity` keys can set. This judges filters that were
 *   decoded, merged or shared, whose keys were not counted here. Counting the ones reads the whole
 *   array, so it is done rarely: a key sets at most k bits, so after a count that found room for r
 *   ones the next count is r/k additions away, and at least a thousandth of the capacity.
 *
 * A filter that is filled exactly to its capacity practically never counts as overfull, by the
 * first fact or the second. Above a rate of 63 % a filter has fewer bits than keys; all of its bits
 * can be ones at capacity, and a filter of a few bits is then never refused.
 */

import { platform } from '../../keys/platform.ts';
import { checkChoice, checkInteger } from '../../math/checks.ts';
import { sizeFromOnes } from '../../math/from-ones.ts';
import type { OverfullPolicy } from './options.ts';

export class OverfullError extends Error {
  override readonly name = 'OverfullError';
  readonly code = 'overfull';
}

/** The view of a filter that the gauge needs. */
export interface Fillable {
  readonly bits: number;
  readonly hashes: number;
  readonly capacity: number | undefined;
  onesCount(): number;
}

export class FillGauge {
  declare readonly policy: OverfullPolicy;
  readonly #filter: Fillable;
  readonly #decay: number;
  /** A filter with more ones than this is overfull. */
  readonly #limit: number;
  /** How many keys may be added before the ones are counted. */
  #room = Infinity; // bundlers shorten it, unlike Number.POSITIVE_INFINITY
  /** How many keys that are certainly new may be added. */
  #left = Infinity;

  /**
   * Checks capacity and policy. `decay` is minus the logarithm of the probability that a key leaves
   * a given bit alone.
   */
  constructor(filter: Fillable, decay: number, policy: OverfullPolicy = 'allow') {
    const { bits, capacity } = filter;
    this.policy = checkChoice('overfull', policy, ['allow', 'warn', 'throw']);
    if (capacity !== undefined) checkInteger('capacity', capacity, 1);
    else if (policy !== 'allow') {
      throw new TypeError(`Cannot use overfull '${policy}': expected a capacity, got none`);
    }
    this.#filter = filter;
    this.#decay = decay;
    // Without a capacity the limit is not a number, and never asked for.
    const zero = Math.exp(-decay * capacity!);
    // The limit is generous: the bits are not independent, and independent ones would scatter more.
    this.#limit = Math.min(
      bits * (1 - zero) + 5 * Math.sqrt(bits * zero * (1 - zero)),
      filter.hashes * capacity!,
    );
    this.reset();
  }

  /**
   * Must be called before `count` keys are added. Returns false if they might be too many: then
   * they must be added one by one, and `refuse` must be called before each that is certainly new.
   */
  before(count: number): boolean {
    if (count > this.#room) this.#look();
    if (count > this.#room) return false;
    this.#room -= count;
    return count <= this.#left;
  }

  /** Must be called after `count` keys were added that were certainly new; negative if deleted. */
  after(count: number): void {
    this.#left -= count;
  }

  /** Must be called for a key that is certainly new, and for which `before` returned false. */
  refuse(): void {
    const message = `Cannot add keys: expected at most ${this.#filter.capacity}, got more`;
    if (this.policy === 'throw') throw new OverfullError(message);
    platform.console?.warn(`bloomery: ${message}`);
    this.#room = this.#left = Infinity;
  }

  /** Must be called before a merge, with a function that counts the ones after it. */
  beforeMerge(ones: () => number): void {
    if (this.#room < Infinity && ones() > this.#limit) this.refuse();
  }

  /** Must be called after the bits were changed by other means than adding keys. */
  reset(): void {
    if (this.policy !== 'allow') [this.#room, this.#left] = [0, Infinity];
  }

  /** Estimates how many distinct keys set the ones of the filter, or this many ones. */
  size(ones: number = this.#filter.onesCount()): number {
    return sizeFromOnes(this.#filter.bits, ones, this.#decay);
  }

  #look(): void {
    const { capacity = 0, hashes } = this.#filter;
    const ones = this.#filter.onesCount();
    const full = ones > this.#limit;
    // A full one is not counted again. It has no room for a new key, and `before` returns false.
    this.#room = full ? Number.MAX_VALUE : Math.max((this.#limit - ones) / hashes, capacity / 1000, 16);
    this.#left = Math.min(this.#left, capacity - (full ? this.size(ones) : Math.ceil(ones / hashes)));
  }
}
