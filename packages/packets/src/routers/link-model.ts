/**
 * A link that is slow, narrow or lossy, as a decision: when a packet arrives at the other end, or
 * why it does not. The kernel's netem does this for real interfaces and is missing from many
 * kernels; here it is a part of the router.
 *
 * The order is that of a real interface. A packet waits behind those before it for the bandwidth;
 * if the waiting packets are more than the queue holds, it is dropped at the tail. Sent packets are
 * lost at random, each by itself. The others arrive after the delay, in the order in which they
 * were sent.
 */

export interface LinkOptions {
  /** Time from one end to the other. Default 0. */
  readonly delayMs?: number;
  /** Share of the packets that are lost, from 0 to 1. Default 0. */
  readonly loss?: number;
  /** Bandwidth. Default: no limit. */
  readonly bitsPerSecond?: number;
  /** Bytes that may wait for the bandwidth. Default 256 KiB. */
  readonly queueBytes?: number;
}

export type Passage = { readonly atMs: number } | { readonly drop: 'lost' | 'queue' };

export class LinkModel {
  readonly #delayMs: number;
  readonly #loss: number;
  readonly #bytesPerMs: number;
  readonly #queueBytes: number;
  /** The time at which the last packet has left. */
  #freeAtMs = Number.NEGATIVE_INFINITY;

  constructor({ delayMs = 0, loss = 0, bitsPerSecond = Infinity, queueBytes = 2 ** 18 }: LinkOptions = {}) {
    if (!(delayMs >= 0 && loss >= 0 && loss <= 1 && bitsPerSecond > 0 && queueBytes > 0)) {
      throw new RangeError(
        `Cannot make a link: expected a delay of at least 0, a loss from 0 to 1, and a bandwidth and a queue above 0, got ${delayMs} ms, ${loss}, ${bitsPerSecond} bit/s, ${queueBytes} bytes`,
      );
    }
    this.#delayMs = delayMs;
    this.#loss = loss;
    this.#bytesPerMs = bitsPerSecond / 8000;
    this.#queueBytes = queueBytes;
  }

  /** The fate of a packet that is sent at `nowMs`. `random` is a number in [0, 1). */
  offer(bytes: number, nowMs: number, random: number): Passage {
    const startMs = Math.max(nowMs, this.#freeAtMs);
    // Infinity times 0 is not a number, and nothing waits on a link without a limit.
    const waiting = startMs > nowMs ? (startMs - nowMs) * this.#bytesPerMs : 0;
    if (waiting + bytes > this.#queueBytes && waiting > 0) return { drop: 'queue' };
    this.#freeAtMs = startMs + bytes / this.#bytesPerMs;
    return random < this.#loss ? { drop: 'lost' } : { atMs: this.#freeAtMs + this.#delayMs };
  }
}
