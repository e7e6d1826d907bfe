/**
 * Random Early Detection (Floyd and Jacobson, IEEE/ACM ToN 1993): marks or drops packets with a
 * probability that grows with the average length of the queue, before it is full. It keeps queues
 * short, and hits every flow in proportion to its packets, so a flow that does not respond keeps
 * what it takes.
 *
 * The probability grows from 0 at `minimum` to `highest` at `maximum`, and from there to 1 at twice
 * `maximum` (the "gentle" form, which Floyd recommends since 2000). Drops are spread evenly by the
 * number of packets since the last one. The average falls while the link is idle as if small
 * packets had passed.
 */

import { checkLimits, isFull } from './fifo-queue.ts';
import { ItemList } from './item-list.ts';
import { type Draw, NO_DROPS, type PacketQueue, type QueueItem, type QueueLimits } from './packet-queue.ts';

export interface RedOptions extends QueueLimits {
  /** Average number of packets below which nothing is marked. */
  readonly minimum: number;
  /** Average number of packets at which the probability is `highest`. */
  readonly maximum: number;
  /** Default 0.1. */
  readonly highest?: number;
  /** Weight of a new length in the average. Default 0.002. */
  readonly weight?: number;
  /** Time that the link takes for a packet, for the average while it is idle. */
  readonly packetMs: number;
  readonly random: Draw;
}

export class RedQueue<Item extends QueueItem> implements PacketQueue<Item> {
  readonly #items = new ItemList<Item>();
  readonly #options: Required<RedOptions>;
  #average = 0;
  /** Packets since the last mark or drop. */
  #since = -1;
  #idleFromMs: number | null = null;
  readonly #stats = { earlydrop: 0, queuedrop: 0, marked: 0 };

  constructor(options: RedOptions) {
    const { minimum, maximum, highest = 0.1, weight = 0.002, packetMs, random } = options;
    if (!(minimum > 0 && maximum > minimum && highest > 0 && highest <= 1 && weight > 0 && weight <= 1)) {
      throw new RangeError(
        `Cannot make a RED queue: expected 0 < minimum < maximum and a probability and a weight from 0 to 1, got ${minimum}, ${maximum}, ${highest}, ${weight}`,
      );
    }
    this.#options = { minimum, maximum, highest, weight, packetMs, random, ...checkLimits(options) };
  }

  get length(): number {
    return this.#items.length;
  }

  get bytes(): number {
    return this.#items.bytes;
  }

  /** Numbers of packets so far, named as in `tc -s qdisc`. */
  get stats(): Readonly<{ earlydrop: number; queuedrop: number; marked: number }> {
    return { ...this.#stats };
  }

  /** The average length by which packets are marked. */
  get average(): number {
    return this.#average;
  }

  enqueue(item: Item, nowMs: number): readonly Item[] {
    this.#follow(nowMs);
    if (this.#isHit()) {
      if (!item.isEcnCapable) {
        this.#stats.earlydrop++;
        return [item];
      }
      item.mark();
      this.#stats.marked++;
    }
    if (isFull(this, item, this.#options)) {
      this.#stats.queuedrop++;
      return [item];
    }
    this.#items.push(item);
    return NO_DROPS;
  }

  dequeue(nowMs: number): Item | null {
    const item = this.#items.shift();
    if (this.length === 0) this.#idleFromMs ??= nowMs;
    return item;
  }

  #follow(nowMs: number): void {
    const { weight, packetMs } = this.#options;
    if (this.#idleFromMs !== null) {
      this.#average *= (1 - weight) ** ((nowMs - this.#idleFromMs) / packetMs);
      this.#idleFromMs = null;
    }
    this.#average += weight * (this.length - this.#average);
  }

  #isHit(): boolean {
    const { minimum, maximum, highest, random } = this.#options;
    const average = this.#average;
    if (average < minimum) {
      this.#since = -1;
      return false;
    }
    const base =
      average < maximum
        ? (highest * (average - minimum)) / (maximum - minimum)
        : Math.min(1, highest + ((1 - highest) * (average - maximum)) / maximum);
    this.#since++;
    const left = 1 - this.#since * base;
    if (left > 0 && random() >= base / left) return false;
    this.#since = 0;
    return true;
  }
}
