/**
 * How many bytes the store may use on the volume that it lies on: the configured capacity, or less
 * where the volume is smaller, or where other programs have filled it.
 *
 * The limit is measured when the store is opened: what the store has on the disk and what is free,
 * minus a 64th (at least 64 KiB) that stays free. It falls when a write is refused for lack of
 * room: below the bytes in use, by the same 64th or by the bytes of that write, whichever is more.
 * The store then evicts down to it (room.ts). A minute after the last refusal the volume is
 * measured again, and the limit may rise.
 *
 * We refused to measure before each write: that is a system call per response, and a quota is not
 * visible in it. Where it breaks down: under a quota, each measurement promises room that a write
 * does not find, so that once a minute one response is not kept and a 64th of the store is evicted.
 *
 * Pure: times are those of a monotonic clock, in milliseconds.
 */

const RISE_AFTER_MS = 60_000;
const LEAST_MARGIN = 64 * 1024;

export class VolumeLimit {
  readonly #configured: number;
  #bytes: number;
  #changedAt = Number.NEGATIVE_INFINITY;

  constructor(configuredBytes: number) {
    this.#configured = configuredBytes;
    this.#bytes = configuredBytes;
  }

  /** Limit for all bytes of the store. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A write of `wanted` bytes found no room, while the store used `used` bytes. */
  refused(used: number, wanted: number, now: number): void {
    this.#changedAt = now;
    this.#bytes = Math.max(0, Math.min(this.#bytes, used - Math.max(wanted, marginOf(used))));
  }

  /** The store has `onDisk` bytes on the volume, on which `free` more can be written. */
  measured(onDisk: number, free: number, now: number): void {
    this.#changedAt = now;
    const all = onDisk + free;
    this.#bytes = Math.max(0, Math.min(this.#configured, all - marginOf(all)));
  }

  /** Whether the volume should be measured, because it may have more room now. */
  mayRise(now: number): boolean {
    return this.#bytes < this.#configured && now - this.#changedAt >= RISE_AFTER_MS;
  }
}

function marginOf(bytes: number): number {
  return Math.max(LEAST_MARGIN, Math.floor(bytes / 64));
}
