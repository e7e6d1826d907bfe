/**
 * The multistage filter of Estan and Varghese (2002) with a fixed threshold T: it tells which
 * packets belong to flows that may have T bytes or more.
 *
 * - Parallel: a packet adds its bytes to one counter of each stage. Its flow passes when all of
 *   them reach T.
 * - Serial: a packet goes to the next stage when its counter in this one has reached T/d. Stages
 *   behind it see less traffic.
 * - Plain update adds to all counters. Conservative update raises them only to the least of them
 *   plus the bytes (survey 8.1): a flow cannot have more. It is for the parallel filter alone.
 *
 * What it promises: a flow of T bytes passes at the latest with the packet that completes them. A
 * smaller flow passes with a probability that math/multistage.ts bounds.
 *
 * `FlowTable` has a parallel filter with conservative update of its own, whose threshold adapts, in
 * its hot loop. This one is the form of the paper, for a threshold that is known beforehand, and to
 * compare the forms. On 1 M packets with T = 0.1 % the serial one lets several times as many small
 * flows pass as the parallel one with the same counters (multistage-filter.test.ts).
 */

import { ROW_FACTORS, rowPlace } from './kernel/row-place.ts';
import { sipHashWords } from './kernel/siphash.ts';

export interface MultistageFilterOptions {
  /** T, in the unit of the amounts. */
  readonly threshold: number;
  /** d, from 1 to 8. */
  readonly stages: number;
  /** b: counters in each stage. */
  readonly counters: number;
  /** 16 random bytes, the key of the hash. */
  readonly secret: Uint8Array;
  readonly arrangement?: 'parallel' | 'serial' | undefined;
  readonly update?: 'plain' | 'conservative' | undefined;
}

export class MultistageFilter {
  readonly threshold: number;
  readonly stages: number;
  readonly counters: number;
  readonly #serial: boolean;
  readonly #conservative: boolean;
  readonly #secret: Int32Array;
  readonly #counts: Float64Array;
  readonly #hash = new Int32Array(2);
  readonly #places: number[];

  constructor(options: MultistageFilterOptions) {
    const { threshold, stages, counters, secret, arrangement = 'parallel', update = 'plain' } = options;
    if (!(stages >= 1 && stages <= ROW_FACTORS.length && Number.isInteger(stages))) {
      throw new RangeError(`Cannot use stages: expected 1 to ${ROW_FACTORS.length}, got ${stages}`);
    }
    if (!(counters >= 1 && counters <= 2 ** 21 && Number.isInteger(counters))) {
      throw new RangeError(`Cannot use counters: expected 1 to 2^21, got ${counters}`);
    }
    if (!(threshold > 0)) throw new RangeError(`Cannot use threshold: expected above 0, got ${threshold}`);
    if (arrangement === 'serial' && update === 'conservative') {
      throw new RangeError('Cannot use update: expected plain for a serial filter, got conservative');
    }
    this.threshold = threshold;
    this.stages = stages;
    this.counters = counters;
    this.#serial = arrangement === 'serial';
    this.#conservative = update === 'conservative';
    this.#secret = new Int32Array(secret.slice().buffer, 0, 4);
    this.#counts = new Float64Array(stages * counters);
    this.#places = new Array<number>(stages).fill(0);
  }

  /** Counts a packet. Returns whether its flow passes: whether it may have T bytes by now. */
  offer(key: Int32Array, amount: number): boolean {
    this.#hashKey(key);
    return this.#serial ? this.#offerSerial(amount) : this.#offerParallel(amount);
  }

  /**
   * Upper bound on the bytes of a flow that the filter counted. In a serial filter the stages count
   * different packets. So the counters of all stages that packets of the flow reached are added up.
   */
  bound(key: Int32Array): number {
    this.#hashKey(key);
    const counts = this.#places.map((place) => this.#counts[place]);
    if (!this.#serial) return Math.min(...counts);
    const last = counts.findIndex((count) => count < this.threshold / this.stages);
    return counts.slice(0, last < 0 ? undefined : last + 1).reduce((sum, count) => sum + count, 0);
  }

  /** Begins a new interval. */
  clear(): void {
    this.#counts.fill(0);
  }

  #offerParallel(amount: number): boolean {
    let least = Number.POSITIVE_INFINITY;
    for (const place of this.#places) least = Math.min(least, this.#counts[place]);
    for (const place of this.#places) {
      if (!this.#conservative) this.#counts[place] += amount;
      else if (this.#counts[place] < least + amount) this.#counts[place] = least + amount;
    }
    return least + amount >= this.threshold;
  }

  #offerSerial(amount: number): boolean {
    for (const place of this.#places) {
      this.#counts[place] += amount;
      if (this.#counts[place] < this.threshold / this.stages) return false;
    }
    return true;
  }

  #hashKey(key: Int32Array): void {
    sipHashWords(key, 0, key.length / 2, this.#secret, this.#hash);
    for (let row = 0; row < this.stages; row++) {
      this.#places[row] = row * this.counters + rowPlace(this.#hash, row, this.counters);
    }
  }
}
