/**
 * Watching whether a filter holds more than it was made for. The rate of an overfull filter rises silently;
 * whoever asked for a rate may want to know.
 *
 * Nobody counts keys here (adding one twice must not count twice). The ones in the array are counted, and a
 * filter is called overfull when they exceed by five standard deviations what its capacity sets on the
 * average, so a filter filled exactly to its capacity never is. Counting is a pass over the array, so it is done
 * rarely: a key sets at most k bits, hence after a count that found room for r ones the next is r/k additions
 * away, and never less than a thousandth of the capacity.
 */

import { platform } from '../../keys/platform.ts';
import type { OverfullPolicy } from './options.ts';

export class OverfullError extends Error {
  override readonly name = 'OverfullError';
  readonly code = 'overfull';
}

/** What the guard needs to know of a filter. */
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
  /** More ones than this are too many. */
  readonly #limit: number;
  #room = Number.POSITIVE_INFINITY;

  /** `decay`: minus the logarithm of the probability that a key leaves a given bit alone. */
  constructor(policy: OverfullPolicy, filter: Fillable, decay: number) {
    const { bits, capacity } = filter;
    if (policy !== 'allow' && capacity === undefined) {
      throw new TypeError(`overfull: '${policy}' needs a capacity to compare with`);
    }
    this.policy = policy;
    this.#filter = filter;
    const zero = Math.exp(-decay * (capacity ?? 0));
    // The bits depend on each other in the good direction: independent ones would scatter more.
    this.#limit = bits * (1 - zero) + 5 * Math.sqrt(bits * zero * (1 - zero));
    this.reset();
  }

  /** To be called before `count` keys are added; throws before anything changed. */
  before(count: number): void {
    this.#room -= count;
    if (this.#room < 0) this.#look();
  }

  /** After the bits were changed by other means than adding keys. */
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
