/**
 * The port for time, timers and randomness. Code of this package, and of the systems on top of it,
 * takes all three from a `Clock`. A simulation passes one of its own, and then runs the code of
 * production with thousands of nodes in one process, the same way for the same seed.
 *
 * There are two times, because they break in different ways. `now` is the time that messages carry:
 * other nodes compare it with theirs, and an administrator may set it back. `monotonic` only
 * measures durations. It never goes back and means nothing to another node.
 */

export interface Clock {
  /** Milliseconds since 1970, for times that other nodes read. */
  now(): number;
  /** Milliseconds since an arbitrary moment, for durations. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds, unless the result is called before. */
  after(ms: number, run: () => void): Cancel;
  /**
   * A number in [0, 1), for jitter and nonces. It need not be unpredictable, only without pattern.
   */
  random(): number;
}

/** Ends what its maker began: a timer, a subscription, a service. A second call does nothing. */
export type Cancel = () => void;

/** Node runs a longer timer at once, with a warning. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine. A pending timer keeps the process alive, as `setTimeout` does. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    if (!(ms <= LONGEST_TIMER_MS))
      throw new RangeError(`Cannot set a timer: expected at most ${LONGEST_TIMER_MS} ms, got ${ms}`);
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
