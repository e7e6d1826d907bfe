/**
 * Fair queueing by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): a queue for each
 * flow, served in turn by bytes. When there is no room, the first packet of the longest queue is
 * dropped (McKenney, Stochastic fairness queueing, INFOCOM 1990), so a flood drops its own packets.
 *
 * It is what stochastic fair Blue approximates without a queue for each flow. Here it is exact: one
 * entry for each flow with packets in the queue, found by a map. That is the yardstick, and the
 * cost that Blue avoids. A flow leaves the map with its last packet, so memory follows the limit
 * of the queue and not the number of flows ever seen.
 */

import { checkLimits } from './fifo-queue.ts';
import { ItemList } from './item-list.ts';
import { NO_DROPS, type PacketQueue, type QueueItem, type QueueLimits } from './packet-queue.ts';

export interface FairQueueOptions extends QueueLimits {
  /** Bytes that a flow may send in a turn. Default 1514, one full Ethernet frame. */
  readonly quantum?: number;
}

interface Turn<Item extends QueueItem> {
  readonly name: string;
  readonly items: ItemList<Item>;
  /** Bytes that the flow may still send in this turn. */
  credit: number;
  before: Turn<Item> | null;
  next: Turn<Item> | null;
}

export class FairQueue<Item extends QueueItem> implements PacketQueue<Item> {
  readonly #limits: Required<QueueLimits>;
  readonly #quantum: number;
  readonly #turns = new Map<string, Turn<Item>>();
  /** The flows with packets, in the order of their turns, as a linked list. */
  #first: Turn<Item> | null = null;
  #last: Turn<Item> | null = null;
  #length = 0;
  #bytes = 0;
  #drops = 0;

  constructor({ quantum = 1514, ...limits }: FairQueueOptions) {
    this.#limits = checkLimits(limits);
    if (!(quantum > 0))
      throw new RangeError(`Cannot make a fair queue: expected a quantum above 0, got ${quantum}`);
    this.#quantum = quantum;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Flows with packets in the queue. */
  get flows(): number {
    return this.#turns.size;
  }

  get drops(): number {
    return this.#drops;
  }

  enqueue(item: Item): readonly Item[] {
    // A packet above the limit would push out everything else.
    if (item.byteLength > this.#limits.limitBytes) {
      this.#drops++;
      return [item];
    }
    this.#push(item);
    if (!this.#isOver()) return NO_DROPS;
    const dropped: Item[] = [];
    while (this.#isOver()) dropped.push(this.#dropFromLongest());
    this.#drops += dropped.length;
    return dropped;
  }

  dequeue(): Item | null {
    for (;;) {
      const turn = this.#first;
      const item = turn?.items.first() ?? null;
      if (turn === null || item === null) return null;
      if (item.byteLength <= turn.credit) {
        turn.credit -= item.byteLength;
        turn.items.shift();
        this.#forget(turn, item);
        return item;
      }
      // The others have their turns first.
      turn.credit += this.#quantum;
      this.#unlink(turn);
      this.#append(turn);
    }
  }

  #push(item: Item): void {
    const name = String(item.flow);
    let turn = this.#turns.get(name);
    if (turn === undefined) {
      turn = { name, items: new ItemList(), credit: this.#quantum, before: null, next: null };
      this.#turns.set(name, turn);
      this.#append(turn);
    }
    turn.items.push(item);
    this.#length++;
    this.#bytes += item.byteLength;
  }

  #isOver(): boolean {
    return this.#length > this.#limits.limitPackets || this.#bytes > this.#limits.limitBytes;
  }

  #dropFromLongest(): Item {
    let longest = this.#first!;
    for (let turn = this.#first; turn !== null; turn = turn.next)
      if (turn.items.bytes > longest.items.bytes) longest = turn;
    const item = longest.items.shift()!;
    this.#forget(longest, item);
    return item;
  }

  /** Counts a packet that left, and ends the turns of a flow without packets. */
  #forget(turn: Turn<Item>, { byteLength }: Item): void {
    this.#length--;
    this.#bytes -= byteLength;
    if (turn.items.length > 0) return;
    this.#turns.delete(turn.name);
    this.#unlink(turn);
  }

  #append(turn: Turn<Item>): void {
    turn.before = this.#last;
    turn.next = null;
    if (this.#last === null) this.#first = turn;
    else this.#last.next = turn;
    this.#last = turn;
  }

  #unlink({ before, next }: Turn<Item>): void {
    if (before === null) this.#first = next;
    else before.next = next;
    if (next === null) this.#last = before;
    else next.before = before;
  }
}
