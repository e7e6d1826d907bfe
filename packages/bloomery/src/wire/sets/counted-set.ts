/**
 * The set of a publisher: the positions of the last closed generation, and the changes since then.
 * Two keys may share a position, so the keys of a position are counted, and it goes when the last
 * of them goes. Only counts above 1 are stored: at a rate of 1 % every 200th position has one.
 *
 * The changes lie in 256 tables, each for a part of the universe, and so do the counts. One map
 * with a million entries held the event loop for 40 ms when it grew, and all its entries had to be
 * sorted at once. Positions come from hashes, so the parts have nearly the same size.
 * position-table.ts says why the tables are not maps. A part without entries has no table, so a
 * publisher of 100 keys takes 8 kB where it took 53.
 *
 * The caller deletes only what it has added. The set cannot check that: a key that was never added
 * may share its position with one that was, and would take its place away.
 */

import { PositionSet } from './position-set.ts';
import { PositionTable } from './position-table.ts';
import type { PositionChanges } from './positions.ts';
import { STEP, type Steps } from './steps.ts';

export class CountedSet {
  readonly #settled = new PositionSet();
  /**
   * The positions that differ from the settled ones, with CAME or WENT. Part i holds the positions
   * from i · #width on.
   */
  readonly #pending = new Parts();
  readonly #width: number;
  #changedCount = 0;
  /** The calls of `changes` that are not at their end. */
  readonly #gatherings = new Set<Gathering>();
  /** The keys beyond the first of a position, in the same parts. */
  readonly #extra = new Parts();
  #size = 0;

  /** Positions are below `universe`. */
  constructor(universe: number) {
    this.#width = Math.ceil(universe / PARTS);
  }

  /** The positions of the last closed generation. */
  get settled(): PositionSet {
    return this.#settled;
  }

  /** The number of positions now. */
  get size(): number {
    return this.#size;
  }

  /** The number of positions that differ from the settled ones. */
  get changedCount(): number {
    return this.#changedCount;
  }

  has(position: number): boolean {
    const pending = this.#pending.get(this.#partOf(position), position);
    return pending === 0 ? this.#settled.has(position) : pending === CAME;
  }

  /** Counts a key. Returns true if it is the first of its position. */
  add(position: number): boolean {
    if (this.has(position)) {
      this.#addExtra(position);
      return false;
    }
    this.#toggle(position, CAME);
    return true;
  }

  /** Forgets a key. Returns true if it was the last of its position. */
  delete(position: number): boolean {
    if (this.#deleteExtra(position) || !this.has(position)) return false;
    this.#toggle(position, WENT);
    return true;
  }

  /**
   * Counts a key of the generation that is being built, before there are changes. Returns true if
   * it is the first of its position.
   */
  addSettled(position: number): boolean {
    const isFirst = this.#settled.insert(position);
    if (isFirst) this.#size++;
    else this.#addExtra(position);
    return isFirst;
  }

  /** Forgets a key of that generation. Returns true if it was the last of its position. */
  deleteSettled(position: number): boolean {
    if (this.#deleteExtra(position)) return false;
    const isLast = this.#settled.delete(position);
    if (isLast) this.#size--;
    return isLast;
  }

  /**
   * The changes since the last generation: all, or the additions alone. Those that come between the
   * steps are not among them.
   */
  *changes(additionsOnly: boolean): Steps<PositionChanges> {
    const gathering = new Gathering(this.#pending);
    this.#gatherings.add(gathering);
    try {
      let looked = 0;
      for (let part = 0; part < PARTS; part++) {
        gathering.take(part);
        looked += this.#pending.sizeOf(part);
        if (looked < STEP) continue;
        looked = 0;
        yield;
      }
    } finally {
      this.#gatherings.delete(gathering);
    }
    const { removed, added } = gathering;
    return { removed: additionsOnly ? new Float64Array() : joined(removed), added: joined(added) };
  }

  /**
   * Closes a generation with changes that `changes` gave. Keys may have come and gone since, and
   * may come and go between the steps. After the last step the settled positions are again those of
   * a generation.
   */
  *settle({ removed, added }: PositionChanges): Steps<void> {
    for (let i = 0; i < removed.length; i++) {
      this.#settleOne(removed[i], false);
      if (i % STEP === STEP - 1) yield;
    }
    for (let i = 0; i < added.length; i++) {
      this.#settleOne(added[i], true);
      if (i % STEP === STEP - 1) yield;
    }
  }

  #settleOne(position: number, came: boolean): void {
    if (came) this.#settled.insert(position);
    else this.#settled.delete(position);
    // A position that changed back in the meantime was not pending. Compared with the new
    // generation it differs, so it is pending now.
    this.#flip(position, came ? WENT : CAME);
  }

  #addExtra(position: number): void {
    const part = this.#partOf(position);
    this.#extra.set(part, position, this.#extra.get(part, position) + 1);
  }

  /** Forgets a key beyond the first of a position. Returns false if there is none. */
  #deleteExtra(position: number): boolean {
    const part = this.#partOf(position);
    const count = this.#extra.get(part, position);
    if (count > 0) this.#extra.set(part, position, count - 1);
    return count > 0;
  }

  #toggle(position: number, change: Change): void {
    this.#size += change;
    this.#flip(position, change);
  }

  /** Removes a position from the pending ones, or adds it if it is not there. */
  #flip(position: number, change: Change): void {
    const part = this.#partOf(position);
    const before = this.#pending.get(part, position);
    for (const gathering of this.#gatherings) gathering.note(part, position, before);
    this.#pending.set(part, position, before === 0 ? change : 0);
    this.#changedCount += before === 0 ? 1 : -1;
  }

  #partOf(position: number): number {
    return Math.floor(position / this.#width);
  }
}

const PARTS = 256;

/** A change of a position, as the number by which it changes the size. */
type Change = typeof CAME | typeof WENT;
const CAME = 1;
const WENT = -1;
/** The former state of a position that was not pending. */
const SETTLED = 2;

/** A table for each part that has entries. */
class Parts {
  readonly #tables: (PositionTable | undefined)[] = new Array(PARTS).fill(undefined);

  get(part: number, position: number): number {
    return this.#tables[part]?.get(position) ?? 0;
  }

  set(part: number, position: number, value: number): void {
    let table = this.#tables[part];
    if (table === undefined) {
      if (value === 0) return;
      this.#tables[part] = table = new PositionTable();
    }
    table.set(position, value);
    if (table.size === 0) this.#tables[part] = undefined;
  }

  sizeOf(part: number): number {
    return this.#tables[part]?.size ?? 0;
  }

  /** The positions of a part that have this integer, rising. */
  positionsOf(part: number, value: number): Float64Array {
    return this.#tables[part]?.positionsOf(value) ?? NO_POSITIONS;
  }
}

const NO_POSITIONS = /* @__PURE__ */ new Float64Array();

/**
 * The pending changes at one moment. The parts are read one by one. As long as a part has not been
 * read, each position that changes in it is noted with its former state. We first read a part as
 * soon as it was about to change. A hundred changes in one turn of the event loop then sorted a
 * hundred parts, which took 17 ms.
 */
class Gathering {
  /** The positions of each part, rising, once it was read. */
  readonly added: Float64Array[] = [];
  readonly removed: Float64Array[] = [];
  readonly #pending: Parts;
  /** The positions of each part that changed since, with CAME, WENT or SETTLED, as they were. */
  #former: Parts | undefined;

  constructor(pending: Parts) {
    this.#pending = pending;
  }

  /** Notes a position that is about to change: its state is CAME, WENT, or 0 if not pending. */
  note(part: number, position: number, before: number): void {
    if (this.added[part] !== undefined) return;
    this.#former ??= new Parts();
    if (this.#former.get(part, position) === 0) this.#former.set(part, position, before || SETTLED);
  }

  take(part: number): void {
    this.added[part] = this.#positionsOf(CAME, part);
    this.removed[part] = this.#positionsOf(WENT, part);
  }

  #positionsOf(change: Change, part: number): Float64Array {
    const former = this.#former;
    const now = this.#pending.positionsOf(part, change);
    if (former === undefined || former.sizeOf(part) === 0) return now;
    const unchanged = now.filter((position) => former.get(part, position) === 0);
    return joined([unchanged, former.positionsOf(part, change)]).sort();
  }
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    if (part.length === 0) continue;
    all.set(part, at);
    at += part.length;
  }
  return all;
}
