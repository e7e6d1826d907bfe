/**
 * Finds workers that hang: alive, but never heard of again, in an endless loop or stopped by a signal. They are no case for the system, which sees a
 * process that runs, and the requests for their keys would wait for ever.
 *
 * Silence is counted in ticks of this process's own timer, not by a clock: when the whole machine was asleep, or this process did not get its turn, the
 * clock has moved on for all of them though nobody has kept silent. A timer that is late ticks once, however late it is, and what the workers said
 * meanwhile is read before the next tick.
 */

/** Of 30 s (workers.ts): one each 2 s, which is how often a worker that is well reports by itself (worker-process.ts). */
const TICKS = 15;

export class SilenceWatch {
  readonly #timer: NodeJS.Timeout;
  /** By worker: ticks since it was heard of. */
  readonly #silent = new Map<number, number>();

  constructor(limitMs: number, hangs: (worker: number) => void) {
    this.#timer = setInterval(() => {
      for (const [worker, ticks] of this.#silent) {
        this.#silent.set(worker, ticks + 1);
        // One tick more, for the first one may come at once.
        if (ticks < TICKS) continue;
        // Should it survive what is done about it, that is done again.
        this.#silent.set(worker, 0);
        hangs(worker);
      }
    }, limitMs / TICKS);
    this.#timer.unref();
  }

  /** Of one that is not watched yet: it is from now on. */
  heard(worker: number): void {
    this.#silent.set(worker, 0);
  }

  /** It is gone, and owes nothing. */
  forget(worker: number): void {
    this.#silent.delete(worker);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
