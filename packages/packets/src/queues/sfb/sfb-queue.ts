/**
 * Stochastic fair Blue (Feng, Kandlur, Saha and Shin, INFOCOM 2001; survey 7.2): a first-in,
 * first-out queue that finds flows which do not back off, without remembering flows. Every packet
 * has a few bins by the hash of its flow. A bin that overflows raises its probability of marking,
 * an empty one lowers it, and a packet is marked with the lowest probability of its bins. A flow
 * that answers marks by sending less settles at a low probability. A flow that does not drives all
 * of its bins to 1 and is punished from then on. One of its bins may be shared with another flow.
 * An innocent flow shares all of its bins with such flows only by bad luck
 * (math/misclassification.ts), and only until the hash function changes.
 *
 * What it promises: memory and work per packet do not depend on the number of flows. What it costs:
 * a punished flow may be an innocent one, with a probability that the operator can compute. Where
 * it breaks down: when flows that do not respond are so many that they fill most bins of every
 * level, everything is punished; with L = 8 and N = 16, 20 such flows cause 7.6 % of the others to
 * be punished. And bins count packets, so a bin must be small compared with the queue for anything
 * to happen (docs/guide/queues.md has the rule).
 *
 * The variants differ in shape, steps and limits (sfb-options.ts). The statistics have Linux's
 * names.
 */

import type { Key } from 'bloomery';
import { checkLimits } from '../fifo-queue.ts';
import { ItemList } from '../item-list.ts';
import { NO_DROPS, type PacketQueue, type QueueItem } from '../packet-queue.ts';
import { type Footprint, MovingBins } from './moving-bins.ts';
import { PenaltyBox } from './penalty-box.ts';
import {
  type LinuxSfbOptions,
  linuxRules,
  type SfbRules,
  type SurveySfbOptions,
  surveyRules,
} from './sfb-options.ts';

/** Numbers of packets so far, named as in `tc -s qdisc show` for sfb. */
export interface SfbStats {
  /** Dropped because of the probability of marking. */
  readonly earlydrop: number;
  /** Dropped because the flow is punished. */
  readonly penaltydrop: number;
  /** Dropped because all bins of the flow hold `max` packets. */
  readonly bucketdrop: number;
  /** Dropped because the queue holds `limitPackets` packets. */
  readonly queuedrop: number;
  /** Dropped because the packets of the queue hold `limitBytes`. */
  readonly childdrop: number;
  /** Marked. A packet that then found no room was dropped as well, and counts twice. */
  readonly marked: number;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly byteLength: number;
  readonly footprints: readonly Footprint[];
}

type DropCause = Exclude<keyof SfbStats, 'marked'>;

export class SfbQueue<Item extends QueueItem> implements PacketQueue<Item> {
  readonly #rules: SfbRules;
  readonly #bins: MovingBins;
  readonly #box: PenaltyBox;
  readonly #items = new ItemList<Waiting<Item>>();
  /** Packets of punished flows that wait for an empty queue. */
  readonly #low = new ItemList<Waiting<Item>>();
  readonly #stats = { earlydrop: 0, penaltydrop: 0, bucketdrop: 0, queuedrop: 0, childdrop: 0, marked: 0 };

  private constructor(rules: SfbRules) {
    checkLimits(rules);
    this.#rules = rules;
    const { shape, bin, rehashMs, warmUpMs, nextKey, punishment } = rules;
    this.#bins = new MovingBins({ shape, rules: bin, rehashMs, warmUpMs, nextKey });
    this.#box = new PenaltyBox(punishment);
  }

  /** The variant of Linux: levels of bins, two steps. */
  static linux<Item extends QueueItem>(options: LinuxSfbOptions): SfbQueue<Item> {
    return new SfbQueue(linuxRules(options));
  }

  /** The variant of the survey: one counting filter, one step. */
  static survey<Item extends QueueItem>(options: SurveySfbOptions): SfbQueue<Item> {
    return new SfbQueue(surveyRules(options));
  }

  get variant(): 'linux' | 'survey' {
    return this.#rules.variant;
  }

  get length(): number {
    return this.#items.length + this.#low.length;
  }

  get bytes(): number {
    return this.#items.bytes + this.#low.bytes;
  }

  get stats(): SfbStats {
    return { ...this.#stats };
  }

  /** How often the hash function has changed. */
  get rehashes(): number {
    return this.#bins.changes;
  }

  /** Whether bins under the next hash function learn already. */
  get isWarmingUp(): boolean {
    return this.#bins.isWarmingUp;
  }

  /** The probability with which packets of a flow are marked now. */
  probabilityOf(flow: Key): number {
    return this.#bins.probabilityOf(flow);
  }

  /** Whether packets of a flow are punished now. */
  isPunished(flow: Key): boolean {
    return this.probabilityOf(flow) >= this.#rules.punishFrom;
  }

  enqueue(item: Item, nowMs: number): readonly Item[] {
    const { limitPackets, learnsWhenFull, max, punishFrom } = this.#rules;
    this.#bins.advance(nowMs);
    const isFull = this.length >= limitPackets && this.#low.length === 0;
    if (isFull && !learnsWhenFull) return this.#drop(item, 'queuedrop');
    const { probability, queued, footprint } = this.#bins.arrive(item.flow);
    if (queued >= max) return this.#drop(item, 'bucketdrop');
    if (probability >= punishFrom) return this.#punish(item, footprint, nowMs);
    if (this.#isHit(item, probability)) return this.#drop(item, 'earlydrop');
    return this.#push(this.#items, { item, byteLength: item.byteLength, footprints: [footprint] });
  }

  dequeue(): Item | null {
    const waiting = this.#items.shift() ?? this.#low.shift();
    if (waiting === null) return null;
    for (const { set, places } of waiting.footprints) set.remove(places);
    return waiting.item;
  }

  #punish(item: Item, footprint: Footprint, nowMs: number): readonly Item[] {
    const next = this.#bins.warmUp(item.flow);
    const sentence = this.#box.judge(item.flow, nowMs);
    if (sentence === 'drop') return this.#drop(item, 'penaltydrop');
    const footprints = next === null ? [footprint] : [footprint, next];
    const list = sentence === 'pass' ? this.#items : this.#low;
    return this.#push(list, { item, byteLength: item.byteLength, footprints });
  }

  /** Decides whether a packet is dropped by the probability of its bins; marks it if it is not. */
  #isHit(item: Item, probability: number): boolean {
    const { random, dropsAboveHalf } = this.#rules;
    const drawn = random();
    if (drawn >= probability) return false;
    // sch_sfb.c: "If we're marking that many packets, then either this flow is unresponsive, or
    // we're badly congested. In either case, we want to start dropping packets."
    if (dropsAboveHalf && drawn < 2 * (probability - 0.5)) return true;
    if (!item.isEcnCapable) return true;
    item.mark();
    this.#stats.marked++;
    return false;
  }

  #push(list: ItemList<Waiting<Item>>, waiting: Waiting<Item>): readonly Item[] {
    const { limitPackets, limitBytes } = this.#rules;
    const dropped: Item[] = [];
    const overflow = (): DropCause | null => {
      if (this.length + 1 > limitPackets) return 'queuedrop';
      return this.bytes + waiting.byteLength > limitBytes ? 'childdrop' : null;
    };
    for (let cause = overflow(); cause !== null; cause = overflow()) {
      // Packets of low priority make room for the others, and never for each other.
      if (list === this.#low || this.#low.length === 0) {
        this.#stats[cause]++;
        return [...dropped, waiting.item];
      }
      const { item, footprints } = this.#low.shift()!;
      for (const { set, places } of footprints) set.remove(places);
      this.#stats.penaltydrop++;
      dropped.push(item);
    }
    for (const { set, places } of waiting.footprints) set.add(places);
    list.push(waiting);
    return dropped.length === 0 ? NO_DROPS : dropped;
  }

  #drop(item: Item, cause: DropCause): readonly Item[] {
    this.#stats[cause]++;
    return [item];
  }
}
