/**
 * One direction between two addresses: its conditions, its queue and its randomness. The network
 * makes one when the conditions need a memory. A direction whose messages all take the same time
 * has none, so that a million links of a large fleet cost nothing here.
 */

import type { RandomStream } from '../engine/random-stream.ts';
import { arrivals, type LinkConditions } from './link-conditions.ts';

export class LinkDirection {
  /** Conditions of this direction alone, or null if those of the network apply. */
  conditions: LinkConditions | null = null;
  readonly #random: RandomStream;
  /** The time at which the last message has left. */
  #freeMs = 0;
  /** The time of the last arrival in order. */
  #lastMs = 0;

  constructor(random: RandomStream) {
    this.#random = random;
  }

  /**
   * Sends a message. Calls `arrive` for each arrival, with the bytes and the time until then.
   * `late` turns a time on the way into the time after which a slow receiver notices.
   */
  send(
    bytes: Uint8Array,
    nowMs: number,
    conditions: LinkConditions,
    late: (ms: number) => number,
    arrive: (bytes: Uint8Array, delayMs: number) => void,
  ): void {
    const leavesMs = Math.max(nowMs, this.#freeMs) + (1000 * bytes.length) / conditions.bytesPerSecond;
    this.#freeMs = leavesMs;
    for (const arrival of arrivals(bytes, conditions, this.#random)) {
      let atMs = nowMs + late(leavesMs - nowMs + arrival.delayMs);
      if (!arrival.isReordered) this.#lastMs = atMs = Math.max(this.#lastMs, atMs);
      arrive(arrival.bytes, atMs - nowMs);
    }
  }
}
