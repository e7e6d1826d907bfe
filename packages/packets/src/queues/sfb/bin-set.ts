/**
 * The bins of stochastic fair Blue under one hash function: how many packets of each bin wait, and
 * the probability with which packets of the bin are marked. `levels` is Linux's and the paper's
 * shape, `filter` the survey's (flow-places.ts).
 */

import type { Key, SecretKey } from 'bloomery';
import { type BinShape, FlowPlaces } from '../flow-places.ts';

/** Rules for the probability of a bin, read when a packet arrives. */
export interface BinRules {
  /** The number of packets from which the probability rises. */
  readonly binSize: number;
  readonly increment: number;
  readonly decrement: number;
}

/** A look at the bins of one packet. */
export interface BinLook {
  /** The lowest probability of its bins. */
  readonly probability: number;
  /** The lowest number of packets that wait in one of its bins. */
  readonly queued: number;
}

export class BinSet {
  readonly #places: FlowPlaces;
  readonly #queued: Uint32Array;
  readonly #probability: Float64Array;

  constructor(shape: BinShape, key: SecretKey) {
    this.#places = new FlowPlaces(shape, key);
    this.#queued = new Uint32Array(this.#places.cells);
    this.#probability = new Float64Array(this.#places.cells);
  }

  /** The bins of a flow, each once. */
  placesOf(flow: Key): Uint32Array {
    return this.#places.of(flow);
  }

  /** Moves the probabilities of a packet's bins by the rules, and returns the lowest. */
  arrive(places: Uint32Array, { binSize, increment, decrement }: BinRules): BinLook {
    let [probability, queued] = [1, Infinity];
    for (const place of places) {
      const waiting = this.#queued[place];
      let p = this.#probability[place];
      if (waiting === 0) p = Math.max(0, p - decrement);
      else if (waiting >= binSize) p = Math.min(1, p + increment);
      this.#probability[place] = p;
      probability = Math.min(probability, p);
      queued = Math.min(queued, waiting);
    }
    return { probability, queued };
  }

  /** Counts a packet that was queued. */
  add(places: Uint32Array): void {
    for (const place of places) this.#queued[place]++;
  }

  /** Counts a packet that left the queue. */
  remove(places: Uint32Array): void {
    for (const place of places) this.#queued[place]--;
  }

  /** The probability with which packets of a flow are marked now. Nothing is changed. */
  probabilityOf(flow: Key): number {
    return Math.min(...Array.from(this.placesOf(flow), (place) => this.#probability[place]));
  }
}
