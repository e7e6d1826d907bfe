/**
 * A clock for tests of work in slices: the test runs one turn of the event loop after the other,
 * and each look at the clock takes time (`tickMs`), so that a slice comes to its end. It has the
 * shape of `Clock` of @bloomery/transport without importing it.
 */

export class TurnClock {
  /** Time that has passed; a test may add to it. */
  spentMs = 0;
  readonly #tickMs: number;
  #turns: (() => void)[] = [];

  constructor({ tickMs = 0 }: { tickMs?: number } = {}) {
    this.#tickMs = tickMs;
  }

  now(): number {
    return this.spentMs;
  }

  monotonic(): number {
    this.spentMs += this.#tickMs;
    return this.spentMs;
  }

  /** Runs in the next turn, however long the time is. */
  after(_ms: number, run: () => void): () => void {
    this.#turns.push(run);
    return () => {
      this.#turns = this.#turns.filter((each) => each !== run);
    };
  }

  random(): number {
    return 0;
  }

  /** Runs what waits. What begins to wait meanwhile belongs to the next turn. */
  turn(): void {
    for (const run of this.#turns.splice(0)) run();
  }

  /** Whether anything waits. */
  get isBusy(): boolean {
    return this.#turns.length > 0;
  }
}
