/**
 * A clock that goes on while the machine sleeps. The steady clock of a process stands still during
 * the sleep of a laptop or of a suspended virtual machine, so a filter that missed an hour of adds
 * would seem fresh afterwards. The wall clock shows the sleep, and this clock adds it.
 *
 * A wall clock that is set forward looks the same as a sleep. The filter then answers "maybe" until
 * its next look at the server, which is the safe side. One that is set back changes nothing.
 */

/** Less than this is the rounding and the slow correction of wall clocks. */
const LEAST_SLEEP_MS = 100;

export class SleepClock {
  readonly #steadyMs: () => number;
  readonly #wallMs: () => number;
  #lead: number;
  #sleptMs = 0;

  constructor(steadyMs: () => number, wallMs: () => number) {
    this.#steadyMs = steadyMs;
    this.#wallMs = wallMs;
    this.#lead = wallMs() - steadyMs();
  }

  /** Milliseconds since some moment, sleep included. It never goes back. */
  now(): number {
    const steadyMs = this.#steadyMs();
    const ahead = this.#wallMs() - steadyMs - this.#lead;
    if (Math.abs(ahead) >= LEAST_SLEEP_MS) {
      this.#lead += ahead;
      this.#sleptMs += Math.max(0, ahead);
    }
    return steadyMs + this.#sleptMs;
  }
}
