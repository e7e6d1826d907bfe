/**
 * A limit on bytes per second, as a schedule: a sender reserves a piece and learns how long to wait
 * before it sends. Senders that share a bucket take turns by their pieces. A timer fires a
 * millisecond or more too late, so up to 20 ms that went unused may be made up.
 */

const BURST_MS = 20;
const LEAST_PIECE = 16 * 1024;
export const MOST_PIECE = 128 * 1024;
const PIECE_MS = 5;

export class TokenBucket {
  readonly #bytesPerMs: number;
  #free = Number.NEGATIVE_INFINITY;

  constructor(bytesPerSecond: number) {
    if (!(bytesPerSecond > 0))
      throw new RangeError(
        `Cannot limit bytes per second: expected a number above 0, got ${bytesPerSecond} (bytesPerSecond)`,
      );
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  /** A good size of the pieces: 5 ms of the rate, which is 64 KiB at 100 Mb/s. */
  get pieceBytes(): number {
    const bytes = 2 ** Math.round(Math.log2(PIECE_MS * this.#bytesPerMs));
    return Math.min(MOST_PIECE, Math.max(LEAST_PIECE, bytes));
  }

  /** Reserves the bytes, and returns the milliseconds to wait before they are sent. */
  reserve(bytes: number, nowMs: number): number {
    const start = Math.max(this.#free, nowMs - BURST_MS);
    this.#free = start + bytes / this.#bytesPerMs;
    return Math.max(0, start - nowMs);
  }

  /** Reserves the bytes, and waits. */
  async take(bytes: number): Promise<void> {
    const waitMs = this.reserve(bytes, performance.now());
    if (waitMs >= 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}
