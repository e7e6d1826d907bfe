/**
 * Waits until an event has had all its consequences: production code awaits, and its continuations
 * run as micro-tasks after the event's closure has returned.
 *
 * V8 does not tell whether micro-tasks wait. An `await` after each event would not be enough for a
 * chain of several, and a turn of the event loop costs more than most events. So this class counts
 * what puts micro-tasks into the queue: a promise that is made, a promise that is settled,
 * and `queueMicrotask`. An event that did none of these is over when it returns, and pays nothing.
 * Otherwise the class awaits again and again, until a round has only counted the await itself. Then
 * the queue was empty behind it. bench/results/engine.md compares events with and without
 * promises.
 *
 * The rounds are bounded: code that awaits in an endless loop ends the run with an error. The loop
 * itself goes on, and no timer of the process runs until it ends, so the caller can only report the
 * error and end the process.
 *
 * The counters are those of the whole process, so one drain is at work at a time. Work of other
 * code in between is counted as well, and costs a round, not an error. Real I/O is not waited for:
 * code under simulation does none.
 */

import { promiseHooks } from 'node:v8';
import { SimulationError } from '../simulation-error.ts';
import { eventLoopTurn } from './event-loop-turn.ts';

/** Rounds that an event may take. Each of them runs everything that waited before it. */
const MOST_ROUNDS = 100_000;
const CALIBRATION_ROUNDS = 4;

export class MicrotaskDrain {
  #count = 0;
  #mark = 0;
  #beforeRound = 0;
  /** The count of one `await` of our own. */
  #ownCount = 0;
  #stop: (() => void)[] = [];

  /** Begins to count. */
  async begin(): Promise<void> {
    const count = () => void this.#count++;
    const { queueMicrotask: enqueue } = globalThis;
    globalThis.queueMicrotask = (run) => {
      count();
      enqueue(run);
    };
    this.#stop = [
      promiseHooks.onInit(count),
      promiseHooks.onSettled(count),
      () => void (globalThis.queueMicrotask = enqueue),
    ] as (() => void)[];
    // Micro-tasks of other code can only add to the count of an await, and after a turn of the
    // event loop none is left. So the least count is ours.
    await eventLoopTurn();
    this.#ownCount = Infinity;
    for (let i = 0; i < CALIBRATION_ROUNDS; i++) {
      const before = this.#count;
      await null;
      this.#ownCount = Math.min(this.#ownCount, this.#count - before);
    }
  }

  end(): void {
    for (const stop of this.#stop.splice(0)) stop();
  }

  /** Begins an event. */
  mark(): void {
    this.#mark = this.#count;
  }

  /** Whether micro-tasks may wait since the last mark. */
  get isStirred(): boolean {
    return this.#count !== this.#mark;
  }

  /**
   * Begins a round, after which the caller awaits null. The caller goes on with `isSettled`. It
   * does not await a function of this class: its promises would cost as much as those of most
   * events.
   */
  beginRound(round: number): void {
    if (round >= MOST_ROUNDS)
      throw new SimulationError(
        'endless',
        `Cannot finish an event: expected its promises to settle within ${MOST_ROUNDS} rounds, got more`,
      );
    this.#beforeRound = this.#count;
  }

  /** Whether no micro-task waited behind the await of the last round. */
  get isSettled(): boolean {
    return this.#count === this.#beforeRound + this.#ownCount;
  }
}
