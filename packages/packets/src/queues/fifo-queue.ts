/**
 * First in, first out, with a limit: the queue of most interfaces, and the one that the others are
 * compared with. A packet that finds the queue full is dropped (drop tail).
 */

import { ItemList } from './item-list.ts';
import { NO_DROPS, type PacketQueue, type QueueItem, type QueueLimits } from './packet-queue.ts';

export class FifoQueue<Item extends QueueItem> implements PacketQueue<Item> {
  readonly #items = new ItemList<Item>();
  readonly #limits: Required<QueueLimits>;
  #drops = 0;

  constructor(limits: QueueLimits) {
    this.#limits = checkLimits(limits);
  }

  get length(): number {
    return this.#items.length;
  }

  get bytes(): number {
    return this.#items.bytes;
  }

  /** Packets that found the queue full. */
  get drops(): number {
    return this.#drops;
  }

  enqueue(item: Item): readonly Item[] {
    if (isFull(this, item, this.#limits)) {
      this.#drops++;
      return [item];
    }
    this.#items.push(item);
    return NO_DROPS;
  }

  dequeue(): Item | null {
    return this.#items.shift();
  }
}

/** Both limits as numbers. At least one must be given. */
export function checkLimits({
  limitPackets = Infinity,
  limitBytes = Infinity,
}: QueueLimits): Required<QueueLimits> {
  if (!(limitPackets > 0 && limitBytes > 0 && Math.min(limitPackets, limitBytes) < Infinity)) {
    throw new RangeError(
      `Cannot make a queue: expected a limit above 0 of packets or bytes, got ${limitPackets} packets and ${limitBytes} bytes`,
    );
  }
  return { limitPackets, limitBytes };
}

/** Whether a queue has no room for one more packet. */
export function isFull(
  { length, bytes }: { readonly length: number; readonly bytes: number },
  { byteLength }: QueueItem,
  { limitPackets, limitBytes }: Required<QueueLimits>,
): boolean {
  return length + 1 > limitPackets || bytes + byteLength > limitBytes;
}
