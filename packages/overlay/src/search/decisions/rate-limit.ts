/**
 * A limit on the requests of each peer: `perSecond` on average and `burst` at once (a token bucket,
 * as a schedule: the time at which all requests so far would be due). The asker of a peer that is
 * above its limit gets an error, and no other peer waits for it.
 */

export interface RateOptions {
  readonly perSecond: number;
  readonly burst: number;
}

/** Names that are remembered. A peer needs the secret of the group to have one. */
const MOST_NAMES = 4096;

export class RateLimit {
  readonly #pauseMs: number;
  readonly #burstMs: number;
  readonly #due = new Map<string, number>();

  constructor({ perSecond, burst }: RateOptions) {
    this.#pauseMs = 1000 / perSecond;
    this.#burstMs = (burst - 1) * this.#pauseMs;
  }

  /** Counts a request of a peer. False if it is above the limit, which does not count. */
  take(peer: string, nowMs: number): boolean {
    const due = Math.max(this.#due.get(peer) ?? 0, nowMs);
    if (due - nowMs > this.#burstMs + 1e-6) return false;
    // The names are kept in the order of their last request, so the longest quiet one goes first.
    this.#due.delete(peer);
    if (this.#due.size >= MOST_NAMES) this.#due.delete(this.#due.keys().next().value!);
    this.#due.set(peer, due + this.#pauseMs);
    return true;
  }
}
