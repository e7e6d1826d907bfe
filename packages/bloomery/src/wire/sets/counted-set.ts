/**
 * The set of a publisher: the positions of the last closed generation, and the changes since then.
 * Two keys may share a position, so the keys of a position are counted, and it goes when the last
 * of them goes. Only counts above 1 are stored: at a rate of 1 % every 200th position has one.
 *
 * The changes lie in 256 maps, each for a part of the universe. One map with a million entries held
 * the event loop for 40 ms when it grew, and all its entries had to be sorted at once. Positions
 * come from hashes, so the parts have nearly the same size.
 *
 * The caller deletes only what it has added. The set cannot check that: a key that was never added
 * may share its position with one that was, and would take its place away.
 */

import { PositionSet } from './position-set.ts';
import type { PositionChanges } from './positions.ts';
import { STEP, type Steps } from './steps.ts';

export class CountedSet {
  readonly #settled = new PositionSet();
  /**
   * The positions that differ from the settled ones: true if they came, false if they went. Part i
   * holds the positions from i · #width on.
   */
  readonly #pending: readonly Map<number, boolean>[] = Array.from({ length: PARTS }, () => new Map());
  readonly #width: number;
  #changedCount = 0;
  /** The calls of `changes` that are not at their end. */
  readonly #gatherings = new Set<Gathering>();
  /** The keys beyond the first of a position. */
  readonly #extra = new Map<number, number>();
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
    return this.#pendingOf(position).get(position) ?? this.#settled.has(position);
  }

  /** Counts a key. Returns true if it is the first of its position. */
  add(position: number): boolean {
    if (this.has(position)) {
      this.#addExtra(position);
      return false;
    }
    this.#toggle(position, true);
    return true;
  }

  /** Forgets a key. Returns true if it was the last of its position. */
  delete(position: number): boolean {
    if (this.#deleteExtra(position) || !this.has(position)) return false;
    this.#toggle(position, false);
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
      for (const [part, pending] of this.#pending.entries()) {
        gathering.take(part);
        looked += pending.size;
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
   * may come and go between the steps. The settled positions are those of a generation again after
   * the last one.
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
    // A position that changed back since is no longer pending, and is from now on.
    this.#flip(position, !came);
  }

  #addExtra(position: number): void {
    this.#extra.set(position, (this.#extra.get(position) ?? 0) + 1);
  }

  /** Returns false if the position has one key or none. */
  #deleteExtra(position: number): boolean {
    const extra = this.#extra.get(position);
    if (extra === undefined) return false;
    if (extra > 1) this.#extra.set(position, extra - 1);
    else this.#extra.delete(position);
    return true;
  }

  #toggle(position: number, came: boolean): void {
    this.#size += came ? 1 : -1;
    this.#flip(position, came);
  }

  /** Removes a position from the pending ones, or adds it if it is not there. */
  #flip(position: number, came: boolean): void {
    const part = Math.floor(position / this.#width);
    for (const gathering of this.#gatherings) gathering.take(part);
    const pending = this.#pending[part];
    if (pending.delete(position)) {
      this.#changedCount--;
    } else {
      pending.set(position, came);
      this.#changedCount++;
    }
  }

  #pendingOf(position: number): Map<number, boolean> {
    return this.#pending[Math.floor(position / this.#width)];
  }
}

const PARTS = 256;
const NONE = /* @__PURE__ */ new Float64Array();

/** The pending changes at one moment. A part is read at the latest before it changes. */
class Gathering {
  /** The positions of each part, rising, once it was read. */
  readonly added: Float64Array[] = [];
  readonly removed: Float64Array[] = [];
  readonly #pending: readonly ReadonlyMap<number, boolean>[];

  constructor(pending: readonly ReadonlyMap<number, boolean>[]) {
    this.#pending = pending;
  }

  take(part: number): void {
    if (this.added[part] !== undefined) return;
    const pending = this.#pending[part];
    this.added[part] = positionsThat(true, pending);
    this.removed[part] = positionsThat(false, pending);
  }
}

/** The positions that came, or those that went, rising. */
function positionsThat(came: boolean, pending: ReadonlyMap<number, boolean>): Float64Array {
  if (pending.size === 0) return NONE;
  const positions = new Float64Array(pending.size);
  let count = 0;
  for (const [position, thisCame] of pending) if (thisCame === came) positions[count++] = position;
  return positions.subarray(0, count).sort();
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
