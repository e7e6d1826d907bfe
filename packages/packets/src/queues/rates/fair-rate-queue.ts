/**
 * Fair rates by bins: our answer to the link on which stochastic fair Blue does nothing. Blue looks
 * at packets that wait. TCP sends in bursts and waits; a steady flow of UDP never does, however
 * much it takes, as long as the queue is short. So a bin that catches the steady flow catches TCP
 * first (docs/guide/queues.md has the sweep). This queue looks at rates instead.
 *
 * A flow that sends r times its fair part is dropped or marked with probability 1 - h/r, so h fair
 * parts are left of it, whether it responds or not; h is the headroom. This is the rule of
 * approximate fair dropping (Pan, Breslau, Prabhakar and Shenker, 2003), with rates from the bins
 * of a Bloom filter (rate-bins.ts) instead of samples of packets. Nothing is dropped while fewer
 * than `busyPackets` wait: a flow may have what the others leave.
 *
 * What it promises: memory and work per packet do not depend on the number of flows, a flow gets at
 * most about h fair parts of a busy link, and a flow below its fair part loses nothing but to a
 * full queue. What it needs and Blue does not: the bandwidth of the link. A flow that shares all
 * of its bins with others is taken for their sum, with the probability of
 * math/misclassification.ts; the hash function moves, as in Blue, and the next bins learn for ten
 * intervals before they decide.
 */

import type { Key, SecretKey } from 'bloomery';
import { checkLimits, isFull } from '../fifo-queue.ts';
import { ItemList } from '../item-list.ts';
import { type Draw, NO_DROPS, type PacketQueue, type QueueItem, type QueueLimits } from '../packet-queue.ts';
import { RateBins } from './rate-bins.ts';

export interface FairRateOptions extends QueueLimits {
  /** Packets per second that the link carries. */
  readonly packetsPerSecond: number;
  /** Fair parts that a flow may have of a busy link, h. Default 1.3. */
  readonly headroom?: number;
  /** Packets that must wait before anything is dropped. */
  readonly busyPackets: number;
  /** Default 2. */
  readonly levels?: number;
  /** Bins of each level; more than there are flows. Default 1024. */
  readonly bins?: number;
  /** Time in which packets are counted. Default 200 ms. */
  readonly intervalMs?: number;
  /** Time between two changes of the hash function; 0: never. Default 60 s. */
  readonly rehashMs?: number;
  readonly random: Draw;
  /** A new secret key, for a new hash function. It must not be guessed by senders. */
  readonly nextKey: () => SecretKey;
}

/** Intervals in which new bins learn before they decide. */
const WARM_UP = 10;
const MOST_BINS = 2 ** 20;

export class FairRateQueue<Item extends QueueItem> implements PacketQueue<Item> {
  readonly #options: Required<FairRateOptions>;
  readonly #items = new ItemList<Item>();
  #current: RateBins;
  #coming: RateBins | null = null;
  #changedAtMs: number | null = null;
  readonly #stats = { earlydrop: 0, queuedrop: 0, marked: 0 };

  constructor(options: FairRateOptions) {
    this.#options = checked(options);
    this.#current = this.#newBins();
  }

  get length(): number {
    return this.#items.length;
  }

  get bytes(): number {
    return this.#items.bytes;
  }

  get stats(): Readonly<{ earlydrop: number; queuedrop: number; marked: number }> {
    return { ...this.#stats };
  }

  enqueue(item: Item, nowMs: number): readonly Item[] {
    const { busyPackets } = this.#options;
    const excess = this.#excessOf(item.flow, nowMs);
    if (this.length >= busyPackets && this.#isHit(item, excess)) {
      this.#stats.earlydrop++;
      return [item];
    }
    if (isFull(this, item, this.#options)) {
      this.#stats.queuedrop++;
      return [item];
    }
    this.#items.push(item);
    return NO_DROPS;
  }

  dequeue(): Item | null {
    return this.#items.shift();
  }

  /** Decides whether a packet is dropped; marks it if it is not, and its flow sends too much. */
  #isHit(item: Item, excess: number): boolean {
    const { headroom, random } = this.#options;
    const probability = 1 - headroom / Math.max(headroom, excess);
    const drawn = random();
    if (drawn >= probability) return false;
    // A flow that sends more than twice what it may does not answer marks (as in sch_sfb.c).
    if (drawn < 2 * (probability - 0.5) || !item.isEcnCapable) return true;
    item.mark();
    this.#stats.marked++;
    return false;
  }

  #excessOf(flow: Key, nowMs: number): number {
    const { rehashMs, intervalMs, packetsPerSecond } = this.#options;
    this.#changedAtMs ??= nowMs;
    const age = nowMs - this.#changedAtMs;
    if (rehashMs > 0 && age >= rehashMs) {
      this.#current = this.#coming ?? this.#newBins();
      this.#coming = null;
      this.#changedAtMs = nowMs;
    } else if (rehashMs > 0 && age >= rehashMs - WARM_UP * intervalMs) {
      this.#coming ??= this.#newBins();
    }
    this.#coming?.arrive(flow, nowMs, packetsPerSecond);
    return this.#current.arrive(flow, nowMs, packetsPerSecond);
  }

  #newBins(): RateBins {
    return new RateBins(this.#options, this.#options.nextKey());
  }
}

function checked(options: FairRateOptions): Required<FairRateOptions> {
  const { packetsPerSecond, busyPackets, random, nextKey } = options;
  const { headroom = 1.3, levels = 2, bins = 1024, intervalMs = 200, rehashMs = 60_000 } = options;
  const isWhole = Number.isInteger(levels) && Number.isInteger(bins) && levels >= 1 && bins >= 1;
  if (!(packetsPerSecond > 0 && headroom >= 1 && busyPackets >= 0 && intervalMs > 0 && rehashMs >= 0)) {
    throw new RangeError(
      `Cannot make a queue of fair rates: expected a rate and an interval above 0, a headroom of at least 1 and other times of at least 0, got ${packetsPerSecond}, ${intervalMs} ms, ${headroom}, ${busyPackets} and ${rehashMs} ms`,
    );
  }
  if (!isWhole || levels * bins > MOST_BINS) {
    throw new RangeError(
      `Cannot make a queue of fair rates: expected 1 to ${MOST_BINS} bins in all levels, got ${levels} levels of ${bins}`,
    );
  }
  return {
    packetsPerSecond,
    headroom,
    busyPackets,
    levels,
    bins,
    intervalMs,
    rehashMs,
    random,
    nextKey,
    ...checkLimits(options),
  };
}
