/**
 * A clock for tests of one node: time stands still until the test advances it, and randomness comes
 * from a seed. It is the clock of a node in a simulation of its own (`packages/sim`), which gives
 * the event loop a turn after each timer. So tests can put it beside real servers, and code which
 * awaits something sees the times in the order it would see them on a real clock.
 */

import { Simulation } from '@bloomery/sim';
import type { Cancel, Clock } from '@bloomery/transport';

export class VirtualClock implements Clock {
  /** The simulation, for networks that run under this clock. */
  readonly simulation: Simulation;
  readonly #clock: Clock;

  /** `now` is the time at the start, in milliseconds since 1970. */
  constructor({ now, seed = 1 }: { now?: number; seed?: number } = {}) {
    this.simulation = new Simulation({ seed, startMs: now, settle: 'turn' });
    this.#clock = this.simulation.clockOf('test');
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(ms: number, run: () => void): Cancel {
    return this.#clock.after(ms, run);
  }

  random(): number {
    return this.#clock.random();
  }

  /** Timers that wait. */
  get pending(): number {
    return this.simulation.pending;
  }

  /** Advances the time, and runs the timers that come due. */
  async advance(ms: number): Promise<void> {
    await this.simulation.run({ untilMs: this.simulation.elapsedMs + ms });
  }
}
