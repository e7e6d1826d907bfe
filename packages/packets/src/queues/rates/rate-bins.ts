/**
 * Rates of flows, without remembering flows: L levels of bins, each of which counts the packets of
 * an interval and keeps a moving average. The rate of a flow is the lowest of its bins, as in a
 * count-min sketch, so it is never too low, and too high only if the flow shares all of its bins.
 *
 * The bins also tell how many flows there are. A level with K bins in use gives each flow the fair
 * part C/K of a link of C packets per second: if flows are few, nearly each has a bin for itself
 * and K is their number; if they are many, a bin holds C/N and several flows.
 */

import type { Key, SecretKey } from 'bloomery';
import { FlowPlaces } from '../flow-places.ts';

export interface RateBinsOptions {
  readonly levels: number;
  readonly bins: number;
  readonly intervalMs: number;
}

/** Weight of the intervals before in the average. */
const KEPT = 0.5;
/** A bin is in use if it had a packet in the last six intervals: half of it in the first. */
const LEAST_COUNT = KEPT ** 6;

export class RateBins {
  readonly #options: RateBinsOptions;
  readonly #places: FlowPlaces;
  readonly #counts: Uint32Array;
  /** Packets per interval, on average. */
  readonly #averages: Float64Array;
  /** Bins in use, for each level. */
  readonly #used: number[];
  #intervalEndMs: number | null = null;

  constructor(options: RateBinsOptions, key: SecretKey) {
    this.#options = options;
    this.#places = new FlowPlaces({ kind: 'levels', levels: options.levels, bins: options.bins }, key);
    this.#counts = new Uint32Array(this.#places.cells);
    this.#averages = new Float64Array(this.#places.cells);
    this.#used = new Array(options.levels).fill(1);
  }

  /** Counts a packet, and returns by how much its flow exceeds the fair part of `perSecond`. */
  arrive(flow: Key, nowMs: number, perSecond: number): number {
    this.#advance(nowMs);
    const perInterval = (perSecond * this.#options.intervalMs) / 1000;
    let excess = Infinity;
    for (const [level, place] of this.#places.of(flow).entries()) {
      this.#counts[place]++;
      excess = Math.min(excess, (this.#averages[place] * this.#used[level]!) / perInterval);
    }
    return excess;
  }

  #advance(nowMs: number): void {
    const { intervalMs, levels, bins } = this.#options;
    this.#intervalEndMs ??= nowMs + intervalMs;
    if (nowMs < this.#intervalEndMs) return;
    const passed = 1 + Math.floor((nowMs - this.#intervalEndMs) / intervalMs);
    this.#intervalEndMs += passed * intervalMs;
    // The first interval that ended has the counts, and all after it were empty.
    const fade = KEPT ** (passed - 1);
    for (let level = 0; level < levels; level++) {
      let used = 0;
      for (let place = level * bins; place < (level + 1) * bins; place++) {
        const average = fade * (KEPT * this.#averages[place] + (1 - KEPT) * this.#counts[place]);
        this.#averages[place] = average;
        this.#counts[place] = 0;
        if (average >= LEAST_COUNT) used++;
      }
      this.#used[level] = Math.max(1, used);
    }
  }
}
