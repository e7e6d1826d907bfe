/**
 * Work that the caller drives: a generator that gives way after each slice of at most some hundred
 * microseconds, and returns its result at the end. A full state of a million positions takes some
 * 100 ms, and a node that answers requests cannot stand still for that long. The library has no
 * clock and no timers, so the caller decides how many slices it takes before others have their
 * turn:
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
