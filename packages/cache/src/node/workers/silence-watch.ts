/**
 * Finds workers that hang: alive but silent, in an endless loop or stopped by a signal. The system
 * does not restart them, because it sees a running process, and the requests for their keys would
 * wait forever.
 *
 * Silence is counted in ticks of this process's own timer, not by a clock. If the whole machine
 * slept, or this process was not scheduled, the clock has advanced although no worker was silent. A
 * late timer ticks only once, and the messages that workers sent meanwhile are read before the next
 * tick.
 */

/**
 * Ticks in the limit of 30 s (workers.ts): one every 2 s, which is how often a healthy worker
 * reports by itself (worker-process.ts).
 */
const TICKS = 15;

export class SilenceWatch {
  readonly #timer: NodeJS.Timeout;
  /** Ticks since the last message, by worker. */
  readonly #silent = new Map<number, number>();

  constructor(limitMs: number, hangs: (worker: number) => void) {
    this.#timer = setInterval(() => {
      for (const [worker, ticks] of this.#silent) {
        this.#silent.set(worker, ticks + 1);
        // One tick more, because the first one may come at once.
        if (ticks < TICKS) continue;
        // If the worker survives `hangs`, it is called again later.
        this.#silent.set(worker, 0);
        hangs(worker);
      }
    }, limitMs / TICKS);
    this.#timer.unref();
  }

  /** Records a message. A worker is watched from its first message on. */
  heard(worker: number): void {
    this.#silent.set(worker, 0);
  }

  /** The worker has ended and is no longer watched. */
  forget(worker: number): void {
    this.#silent.delete(worker);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
