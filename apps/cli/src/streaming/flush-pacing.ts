/**
 * Decides when the keys of a stream are written to the file. Writing at once would take the lock
 * for each line of `tail -f`; writing at the end would lose everything on a signal. So keys are
 * written when the oldest has waited for `everyMs`, or when there are many of them, which bounds
 * the memory.
 *
 * Writing takes milliseconds for a file that is changed by pages, and seconds for a large one that
 * is replaced as a whole. The next write by time therefore waits for at least ten times as long as
 * the last one took, so that at most a tenth of the time goes into writing.
 *
 * This is a pure decision: times come in as numbers of milliseconds.
 */

export interface FlushLimits {
  /** The longest time that a key waits. */
  readonly everyMs: number;
  /** The most keys that wait. */
  readonly mostKeys: number;
}

/** Keys can be long, so their bytes are limited as well. */
const MOST_BYTES = 64 * 2 ** 20;
/** A write that is due by time waits for this many times the duration of the last write. */
const REST = 10;

export class FlushPacing {
  readonly #limits: FlushLimits;
  #keys = 0;
  #bytes = 0;
  #oldestMs = 0;
  #restUntilMs = Number.NEGATIVE_INFINITY;

  constructor(limits: FlushLimits) {
    this.#limits = limits;
  }

  /** Notes keys that wait from now on. */
  add(keys: number, bytes: number, nowMs: number): void {
    if (this.#keys === 0) this.#oldestMs = nowMs;
    this.#keys += keys;
    this.#bytes += bytes;
  }

  /** Milliseconds until the next write: 0 if it is due, undefined if no key waits. */
  dueInMs(nowMs: number): number | undefined {
    if (this.#keys === 0) return undefined;
    if (this.#keys >= this.#limits.mostKeys || this.#bytes >= MOST_BYTES) return 0;
    const dueMs = Math.max(this.#oldestMs + this.#limits.everyMs, this.#restUntilMs);
    return Math.max(0, dueMs - nowMs);
  }

  /** Notes that all keys were written. */
  flushed(beganMs: number, endedMs: number): void {
    this.#keys = 0;
    this.#bytes = 0;
    this.#restUntilMs = endedMs + REST * (endedMs - beganMs);
  }
}
