/**
 * Tells when a body has stalled: nothing arrived for some time. One timer looks 20 times in that
 * time, and counts looks at which nothing had arrived instead of time. A node that stood still for
 * seconds itself finds the bytes of that time waiting, and must not take its own pause for the
 * silence of the other end.
 */

import type { Cancel, Clock } from '@bloomery/transport';

const LOOKS = 20;

export class StallWatch {
  readonly #clock: Clock;
  readonly #lookMs: number;
  readonly #stalled: () => void;
  #hasHeard = false;
  #cancel: Cancel = () => {};

  constructor(clock: Clock, stallMs: number, stalled: () => void) {
    this.#clock = clock;
    this.#lookMs = stallMs / LOOKS;
    this.#stalled = stalled;
  }

  /** Begins to watch, or begins again after `stop`. */
  start(): void {
    let silent = 0;
    const look = (): void => {
      silent = this.#hasHeard ? 0 : silent + 1;
      this.#hasHeard = false;
      if (silent === LOOKS - 1) this.#stalled();
      else this.#cancel = this.#clock.after(this.#lookMs, look);
    };
    // The first look does not count, because it may come right after the last bytes.
    this.#hasHeard = true;
    this.stop();
    this.#cancel = this.#clock.after(this.#lookMs, look);
  }

  /** Something arrived. */
  heard(): void {
    this.#hasHeard = true;
  }

  stop(): void {
    this.#cancel();
  }
}
