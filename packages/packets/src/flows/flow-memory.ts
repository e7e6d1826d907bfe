/**
 * The flow memory of Estan and Varghese (2002): entries for the flows that an admission let pass,
 * which counts their packets from then on. The admission is a `MultistageFilter` or
 * `SampleAndHold`.
 *
 * Shielding: packets of a flow that has an entry do not go through the admission. Inside one
 * interval this changes nothing for a multistage filter, because the counters of such a flow are at
 * the threshold already. It pays when entries are preserved: in the next interval, the heavy flows
 * of the last one leave the counters to the others, and are counted from their first packet.
 *
 * Entries stay for the next interval if they counted at least R bytes. With R = T only flows that
 * were surely heavy stay. A flow that came late in the interval has counted less, so R below T
 * keeps those, and removes the small flows that passed by chance: the paper calls it early removal.
 *
 * `FlowTable` does all this with one hash per packet and bounds on both sides. This is the form of
 * the paper, for experiments: entries have a limit, and a flow that finds no room is refused.
 */

import { FlowTable } from './flow-table.ts';

export interface Admission {
  /** Counts or samples a packet. Returns whether its flow gets an entry. */
  offer(key: Int32Array, amount: number): boolean;
  /** Begins a new interval. */
  clear(): void;
}

export interface FlowMemoryOptions {
  readonly admission: Admission;
  /** T, in the unit of the amounts. */
  readonly threshold: number;
  /** Most entries. */
  readonly entries: number;
  readonly secret: Uint8Array;
  /** Default true. */
  readonly shielding?: boolean | undefined;
  /** Whether entries stay for the next interval. Default true. */
  readonly preserve?: boolean | undefined;
  /** R: entries below it do not stay. Default: the threshold. */
  readonly earlyRemoval?: number | undefined;
}

export interface HeldFlow {
  readonly key: Int32Array;
  /** Bytes since the entry was made. */
  readonly counted: number;
}

export class FlowMemory {
  readonly #options: FlowMemoryOptions;
  #table: FlowTable;
  #refused = 0;

  constructor(options: FlowMemoryOptions) {
    this.#options = options;
    this.#table = this.#newTable();
  }

  /** Entries in use. */
  get size(): number {
    return this.#table.size;
  }

  /** Packets that passed the admission and found no room. */
  get refused(): number {
    return this.#refused;
  }

  /** Counts a packet. Returns whether its flow has an entry now. */
  add(key: Int32Array, amount: number): boolean {
    const { admission, entries, shielding = true } = this.#options;
    const held = this.#isHeld(key);
    const passes = held && shielding ? true : admission.offer(key, amount);
    if (!held && !passes) return false;
    if (!held && this.size >= entries) {
      this.#refused++;
      return false;
    }
    this.#put(key, amount, 1);
    return true;
  }

  /** The flows that counted at least `least` bytes, largest first. */
  list(least = 0): HeldFlow[] {
    return this.#table
      .list()
      .map(({ key, atLeast }) => ({ key, counted: atLeast }))
      .filter(({ counted }) => counted >= Math.max(least, 1));
  }

  /** Begins a new interval; returns how many entries stay. */
  nextInterval(): number {
    const { admission, threshold, preserve = true, earlyRemoval = threshold } = this.#options;
    const former = this.#table;
    this.#table = this.#newTable();
    admission.clear();
    if (!preserve) return 0;
    for (const { key, atLeast } of former.list()) {
      if (atLeast >= earlyRemoval) this.#put(key, 0, 1);
    }
    return this.size;
  }

  #newTable(): FlowTable {
    const { entries, secret } = this.#options;
    return new FlowTable({ memory: 262_144 + 128 * entries, secret, width: 1, depth: 1 });
  }

  #isHeld(key: Int32Array): boolean {
    return this.#table.count(key).other > 0;
  }

  #put(key: Int32Array, amount: number, packets: number): void {
    this.#table.keys.set(key);
    this.#table.amounts[0] = amount;
    this.#table.others[0] = packets;
    this.#table.addBatch(1);
  }
}
