/**
 * A limit on bytes per second, as a schedule: a sender reserves a piece and learns how long it must
 * wait before it sends. Several senders that share one bucket take turns by their pieces, so none
 * starves.
 *
 * A timer of Node fires a millisecond or more too late, and at 100 Mb/s a piece of 16 KiB takes
 * 1.3 ms. A sender that never made up for late timers would reach 57 % of the rate. Time that went
 * unused may therefore be made up within `burstMs`.
 */

const BURST_MS = 20;

export class TokenBucket {
  readonly #bytesPerMs: number;
  readonly #burstMs: number;
  /** Time at which all bytes that were reserved so far have left. */
  #free = Number.NEGATIVE_INFINITY;

  constructor(bytesPerSecond: number, burstMs: number = BURST_MS) {
    if (!(bytesPerSecond > 0))
      throw new RangeError(
        `Cannot limit bytes per second: expected a number above 0, got ${bytesPerSecond} (token bucket)`,
      );
    this.#bytesPerMs = bytesPerSecond / 1000;
    this.#burstMs = burstMs;
  }

  /** Reserves the bytes, and returns the milliseconds to wait before they are sent. */
  reserve(bytes: number, nowMs: number): number {
    const start = Math.max(this.#free, nowMs - this.#burstMs);
    this.#free = start + bytes / this.#bytesPerMs;
    return Math.max(0, start - nowMs);
  }
}
