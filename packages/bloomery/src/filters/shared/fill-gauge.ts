/**
 * How full a filter is: the number of keys that follows from its ones, and the reaction to more
 * keys than it was made for. Every filter whose bits, counters or positions can be counted holds
 * one.
 *
 * Overfull. The rate of an overfull filter rises silently; a caller that asked for a rate may want
 * to know. We do not count keys, because adding a key twice must not count twice. We count the ones
 * in the array. A filter is overfull when they exceed by five standard deviations the number that
 * its capacity sets on average, so a filter filled exactly to its capacity practically never is.
 * Counting reads the whole array, so it is done rarely. A key sets at most k bits, so after a count
 * that found room for r ones the next count is r/k additions away, and at least a thousandth of the
 * capacity.
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
  #room = Infinity; // bundlers shorten it, unlike Number.POSITIVE_INFINITY

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
    const zero = Math.exp(-decay * (capacity ?? 0));
    // The limit is generous: the bits are not independent, and independent ones would scatter more.
    this.#limit = bits * (1 - zero) + 5 * Math.sqrt(bits * zero * (1 - zero));
    this.reset();
  }

  /** Must be called before `count` keys are added. Throws before anything changes. */
  before(count: number): void {
    this.#room -= count;
    if (this.#room < 0) this.#look();
  }

  /** Must be called after the bits were changed by other means than adding keys. */
  reset(): void {
    if (this.policy !== 'allow') this.#room = 0;
  }

  /** Estimates how many distinct keys set the ones of the filter, or this many ones. */
  size(ones: number = this.#filter.onesCount()): number {
    return sizeFromOnes(this.#filter.bits, ones, this.#decay);
  }

  #look(): void {
    const { capacity = 0, hashes } = this.#filter;
    const room = this.#limit - this.#filter.onesCount();
    if (room >= 0) {
      this.#room = Math.max(room / hashes, capacity / 1000, 16);
      return;
    }
    const message = `expected at most ${capacity} keys, got about ${Math.round(this.size())}`;
    if (this.policy === 'throw') throw new OverfullError(`Cannot add to the filter: ${message}`);
    platform.console?.warn(`bloomery: overfull filter: ${message}`);
    this.#room = Infinity;
  }
}
