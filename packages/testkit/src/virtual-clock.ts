/**
 * A clock for tests: time stands still until the test advances it, and randomness comes from a
 * seed. Timers run in the order of their times, and those of one time in the order in which they
 * were set. Between two timers all pending promises settle, so that code which awaits something
 * sees the times in the order it would see them on a real clock.
 *
 * It has the shape of `Clock` of @bloomery/transport without importing it, because the test kit is
 * below every package.
 */

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class VirtualClock {
  #now: number;
  readonly #start: number;
  #order = 0;
  #state: number;
  readonly #timers = new Set<Timer>();

  /** `now` is the time at the start, in milliseconds since 1970. */
  constructor({ now = 1_700_000_000_000, seed = 1 }: { now?: number; seed?: number } = {}) {
    this.#now = now;
    this.#start = now;
    this.#state = seed >>> 0;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + Math.max(ms, 0), order: this.#order++, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /**
   * Mulberry32. `Random` of statistics.ts loads vitest, and this clock is for other programs as
   * well.
   */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let x = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Advances the time, and runs the timers that come due. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#timers.delete(next);
      this.#now = next.at;
      next.run();
      await settle();
    }
    this.#now = end;
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > end) continue;
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    return first;
  }
}

/** One turn of the event loop: every promise that can settle has settled by then. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
