/**
 * Time, timers and randomness for routers. A simulation passes a clock of its own; every `Clock` of
 * @bloomery/transport fits.
 */

export interface RouterClock {
  /** Milliseconds since an arbitrary moment. */
  monotonic(): number;
  /** Calls `run` after `ms` milliseconds, unless the result is called before. */
  after(ms: number, run: () => void): () => void;
  /** A number in [0, 1). */
  random(): number;
}

/** The clock of the machine. */
export const machineClock: RouterClock = {
  monotonic: () => performance.now(),
  after(ms, run) {
    // Node fires a longer timer at once; the router looks at the time and waits again.
    const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
