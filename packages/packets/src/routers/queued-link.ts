/**
 * The bandwidth of a link with a queue of the caller's in front of it: it says when a packet has
 * left, and takes the next one from the queue only then. `LinkModel` knows the fate of a packet
 * when it comes. A queue that drops or reorders by what happens later needs this instead.
 *
 * The clock of a machine fires late. So packets leave at computed times, one after the other: when
 * it is asked at `nowMs`, all packets whose time has come leave, each at its own time, and the
 * link is not slower than it was told.
 */

/** A packet with the header before it, if it has one. */
export interface Parcel {
  readonly bytes: Uint8Array;
  /** The IP packet in `bytes`. */
  readonly packet: Uint8Array;
}

/** A queue in front of a link. */
export interface LinkQueue {
  /** Takes a packet, which it may mark in place. Returns how many packets it drops for it. */
  offer(parcel: Parcel, nowMs: number): number;
  /** Removes the packet that is sent next, or returns null if none waits. */
  take(nowMs: number): Parcel | null;
}

export class QueuedLink {
  readonly #queue: LinkQueue;
  readonly #bytesPerMs: number;
  /** The packet that is being sent, and the time at which it has left. */
  #sending: Parcel | null = null;
  #freeAtMs = Number.NEGATIVE_INFINITY;

  constructor(queue: LinkQueue, bitsPerSecond: number) {
    if (!(bitsPerSecond > 0 && bitsPerSecond < Infinity)) {
      throw new RangeError(
        `Cannot put a queue before a link: expected a bandwidth above 0, got ${bitsPerSecond} bit/s`,
      );
    }
    this.#queue = queue;
    this.#bytesPerMs = bitsPerSecond / 8000;
  }

  /** The time at which the packet that is being sent has left, or Infinity. */
  get nextMs(): number {
    return this.#sending === null ? Infinity : this.#freeAtMs;
  }

  /** Takes a packet. Returns how many packets are dropped for it. */
  offer(parcel: Parcel, nowMs: number): number {
    const dropped = this.#queue.offer(parcel, nowMs);
    if (this.#sending === null) this.#start(Math.max(nowMs, this.#freeAtMs));
    return dropped;
  }

  /** The next packet that has left by now with the time at which it did, or null. */
  leave(nowMs: number): { readonly parcel: Parcel; readonly atMs: number } | null {
    const [parcel, atMs] = [this.#sending, this.#freeAtMs];
    if (parcel === null || atMs > nowMs) return null;
    this.#start(atMs);
    return { parcel, atMs };
  }

  #start(atMs: number): void {
    this.#sending = this.#queue.take(atMs);
    if (this.#sending !== null) this.#freeAtMs = atMs + this.#sending.packet.length / this.#bytesPerMs;
  }
}
