/**
 * Work that the caller drives: a generator that gives way after each step, and returns its result
 * at the end. A full state of a million positions takes about 60 ms, and a node that answers
 * requests cannot stand still for that long. 99 of 100 steps take less than 0.6 ms, and none 2 ms,
 * garbage collection apart (bench/results/summaries.md). The library has no clock and no timers, so
 * the caller decides how many slices it takes before others have their turn:
 *
 *     const steps = publisher.fullInSteps();
 *     let step = steps.next();
 *     for (; !step.done; step = steps.next()) if (isTimeUp()) await othersTurn();
 *     send(step.value);
 */

export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all steps at once. */
export function finishSteps<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** The number of positions that are handled in one step. */
export const STEP = 256;
