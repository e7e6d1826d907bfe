/**
 * Runs long work in slices, so that a hit never waits for it: the full state of a million positions
 * takes about 60 ms (bench/results/summaries.md), and the event loop has other things to do. The
 * work is a generator that gives way often (`Steps` of the library). A slice ends when its time is
 * over, and the next one begins in another turn of the event loop.
 *
 * One piece of work runs after the other, in the order in which they came. Two at a time would only
 * double the pauses.
 */

import type { Clock } from '@bloomery/transport';

/** Work that gives way from time to time, and has a result. */
export type Steps<T> = Generator<unknown, T, undefined>;

/** The longest time that a slice holds the event loop. */
const SLICE_MS = 1;

export class SlicedWork {
  readonly #clock: Clock;
  readonly #queue: Job[] = [];
  #isScheduled = false;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs the work, then calls `done` with its result. Work that throws is reported to `failed`. The
   * result of this call ends the work: neither function is called after that.
   */
  run<T>(steps: Steps<T>, done: (result: T) => void, failed: (error: unknown) => void): () => void {
    const job: Job = { steps, done: done as (result: unknown) => void, failed, isCancelled: false };
    this.#queue.push(job);
    this.#schedule();
    return () => {
      job.isCancelled = true;
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#queue.length = 0;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isClosed || this.#queue.length === 0) return;
    this.#isScheduled = true;
    this.#clock.after(0, () => {
      this.#isScheduled = false;
      this.#slice();
      this.#schedule();
    });
  }

  #slice(): void {
    const end = this.#clock.monotonic() + SLICE_MS;
    while (this.#queue.length > 0) {
      const job = this.#queue[0];
      if (job.isCancelled || this.#advance(job, end)) this.#queue.shift();
      if (this.#clock.monotonic() >= end) return;
    }
  }

  /** Returns true if the job is over. */
  #advance(job: Job, end: number): boolean {
    try {
      do {
        const step = job.steps.next();
        if (step.done) {
          job.done(step.value);
          return true;
        }
      } while (this.#clock.monotonic() < end);
      return false;
    } catch (error) {
      job.failed(error);
      return true;
    }
  }
}

interface Job {
  readonly steps: Steps<unknown>;
  readonly done: (result: unknown) => void;
  readonly failed: (error: unknown) => void;
  isCancelled: boolean;
}
