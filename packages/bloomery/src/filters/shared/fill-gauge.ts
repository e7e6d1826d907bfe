/**
 * Detects a filter that holds more keys than it was made for. The rate of an overfull filter rises
 * silently; a caller that asked for a rate may want to know.
 *
 * We do not count keys, because adding a key twice must not count twice. We count the ones in the
 * array. A filter is overfull when they exceed by five standard deviations the number that its
 * capacity sets on average, so a filter filled exactly to its capacity practically never is.
 * Counting reads the whole array, so it is done rarely. A key sets at most k bits, so after a count
 * that found room for r ones the next count is r/k additions away, and at least a thousandth of the
 * capacity.
 */

import { platform } from '../../keys/platform.ts';
import type { OverfullPolicy } from './options.ts';

export class OverfullError extends Error {
  override readonly name = 'OverfullError';
  readonly code = 'overfull';
}

/** The view of a filter that the guard needs. */
export interface Fillable {
  readonly bits: number;
  readonly hashes: number;
  readonly capacity: number | undefined;
  onesCount(): number;
  estimatedSize(): number;
}

export class OverfullGuard {
  readonly policy: OverfullPolicy;
  readonly #filter: Fillable;
  /** A filter with more ones than this is overfull. */
  readonly #limit: number;
  #room = Number.POSITIVE_INFINITY;

  /** `decay` is minus the logarithm of the probability that a key leaves a given bit alone. */
  constructor(policy: OverfullPolicy, filter: Fillable, decay: number) {
    const { bits, capacity } = filter;
    if (policy !== 'allow' && capacity === undefined) {
      throw new TypeError(`overfull: '${policy}' needs a capacity to compare with`);
    }
    this.policy = policy;
    this.#filter = filter;
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

  #look(): void {
    const { capacity = 0, hashes } = this.#filter;
    const room = this.#limit - this.#filter.onesCount();
    if (room >= 0) {
      this.#room = Math.max(room / hashes, capacity / 1000, 16);
      return;
    }
    const size = Math.round(this.#filter.estimatedSize());
    const message = `the filter was made for ${capacity} keys and holds about ${size}`;
    if (this.policy === 'throw') throw new OverfullError(message);
    platform.console?.warn(`bloomery: ${message}`);
    this.#room = Number.POSITIVE_INFINITY;
  }
}
