/**
 * The pauses between attempts to reach a neighbour: 250 ms, then twice as long each time, up to 10
 * s. Each pause is shortened by a random share of up to a half. Without that, the nodes of a fleet
 * would all come back to a restarted neighbour in the same moment.
 */

import type { Clock } from '../clock.ts';

export interface BackoffOptions {
  readonly firstMs?: number | undefined;
  readonly mostMs?: number | undefined;
}

const FIRST_MS = 250;
const MOST_MS = 10_000;

export class Backoff {
  readonly #clock: Clock;
  readonly #firstMs: number;
  readonly #mostMs: number;
  #failures = 0;

  constructor(clock: Clock, { firstMs = FIRST_MS, mostMs = MOST_MS }: BackoffOptions = {}) {
    this.#clock = clock;
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
  }

  /** The pause after one more failure. */
  nextMs(): number {
    const longest = Math.min(this.#firstMs * 2 ** this.#failures, this.#mostMs);
    if (longest < this.#mostMs) this.#failures++;
    return longest * (1 - this.#clock.random() / 2);
  }

  /** Begins again with the shortest pause, after a success. */
  reset(): void {
    this.#failures = 0;
  }
}
