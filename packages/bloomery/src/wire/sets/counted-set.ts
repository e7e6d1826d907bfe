/**
 * The set of a publisher: the positions of the last closed generation, and the changes since then.
 * Two keys may share a position, so the keys of a position are counted, and it goes when the last
 * of them goes. Only counts above 1 are stored: at a rate of 1 % every 200th position has one.
 *
 * The caller deletes only what it has added. The set cannot check that: a key that was never added
 * may share its position with one that was, and would take its place away.
 */

import { PositionSet } from './position-set.ts';
import type { PositionChanges } from './set-code.ts';
import { STEP, type Steps } from './steps.ts';

export class CountedSet {
  readonly #settled = new PositionSet();
  /** The positions that differ from the settled ones: true if they came, false if they went. */
  readonly #pending = new Map<number, boolean>();
  /** The keys beyond the first of a position. */
  readonly #extra = new Map<number, number>();
  #size = 0;

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
    return this.#pending.size;
  }

  has(position: number): boolean {
    return this.#pending.get(position) ?? this.#settled.has(position);
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

  /** The changes since the last generation: all, or the additions alone. */
  changes(additionsOnly: boolean): PositionChanges {
    const added = new Float64Array(this.#pending.size);
    const removed = new Float64Array(additionsOnly ? 0 : this.#pending.size);
    let [addedCount, removedCount] = [0, 0];
    for (const [position, came] of this.#pending) {
      if (came) added[addedCount++] = position;
      else if (!additionsOnly) removed[removedCount++] = position;
    }
    return { removed: removed.slice(0, removedCount).sort(), added: added.slice(0, addedCount).sort() };
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
    if (!this.#pending.delete(position)) this.#pending.set(position, !came);
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
    if (!this.#pending.delete(position)) this.#pending.set(position, came);
  }
}
