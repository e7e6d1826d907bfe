/**
 * Bins whose hash function moves: two sets of bins, of which one decides. After `rehashMs` the
 * other one takes its place under a new secret key, so that a flow which shares its bins with flows
 * that do not respond meets others, and is no longer punished (survey 7.2).
 *
 * Without a warm-up, every flow that does not respond would be free until its new bins have
 * learned. So for the last `warmUpMs` before the change, the packets of punished flows also count
 * in the set that comes. This is what Linux does (net/sched/sch_sfb.c, `double_buffering`). Other
 * packets do not warm it up: their probabilities move within a second after the change.
 *
 * A packet that waits over a change knows its bins in the set that decided when it came, and in the
 * one that came then. A set that is replaced is dropped whole, with its counts.
 */

import type { Key, SecretKey } from 'bloomery';
import type { BinShape } from '../flow-places.ts';
import { type BinLook, type BinRules, BinSet } from './bin-set.ts';

export interface MovingBinsOptions {
  readonly shape: BinShape;
  readonly rules: BinRules;
  /** Time between two changes of the hash function; 0: it never moves. */
  readonly rehashMs: number;
  /** Time for which the next set learns before it decides. */
  readonly warmUpMs: number;
  /** The secret key of a new set. */
  readonly nextKey: () => SecretKey;
}

/** The bins of one packet that waits. */
export interface Footprint {
  readonly set: BinSet;
  readonly places: Uint32Array;
}

export class MovingBins {
  readonly #options: MovingBinsOptions;
  #current: BinSet;
  /** The set that comes, from the start of its warm-up on. */
  #coming: BinSet | null = null;
  #changedAtMs: number | null = null;
  #changes = 0;

  constructor(options: MovingBinsOptions) {
    this.#options = options;
    this.#current = new BinSet(options.shape, options.nextKey());
  }

  /** How often the hash function has changed. */
  get changes(): number {
    return this.#changes;
  }

  get isWarmingUp(): boolean {
    return this.#coming !== null;
  }

  /** Changes the set or begins its warm-up, if it is time. */
  advance(nowMs: number): void {
    const { rehashMs, warmUpMs, shape, nextKey } = this.#options;
    this.#changedAtMs ??= nowMs;
    if (rehashMs === 0) return;
    const age = nowMs - this.#changedAtMs;
    if (age >= rehashMs) {
      this.#current = this.#coming ?? new BinSet(shape, nextKey());
      this.#coming = null;
      this.#changedAtMs = nowMs;
      this.#changes++;
    } else if (age >= rehashMs - warmUpMs) {
      this.#coming ??= new BinSet(shape, nextKey());
    }
  }

  /** Lets a packet arrive in the set that decides. */
  arrive(flow: Key): BinLook & { readonly footprint: Footprint } {
    const places = this.#current.placesOf(flow);
    const look = this.#current.arrive(places, this.#options.rules);
    return { ...look, footprint: { set: this.#current, places } };
  }

  /** Lets a packet of a punished flow arrive in the set that comes, if one warms up. */
  warmUp(flow: Key): Footprint | null {
    if (this.#coming === null) return null;
    const places = this.#coming.placesOf(flow);
    this.#coming.arrive(places, this.#options.rules);
    return { set: this.#coming, places };
  }

  /** The probability with which packets of a flow are marked now. */
  probabilityOf(flow: Key): number {
    return this.#current.probabilityOf(flow);
  }
}
