/**
 * A table from 64-bit hashes to numbers that stay the same as long as the hash is in it. The keeper
 * of a summary holds one entry for each stored response: the hash alone, because URLs are some 100
 * bytes long.
 *
 * Entries lie in pages by their number, and numbers of removed entries are used again. The index is
 * cut into 1,024 small tables with open addressing, each of which grows for itself, because one
 * table would move all entries whenever it doubles: a `Map` stood still for 175 ms while it grew to
 * 300,000 entries (on a busy machine). With a million keys, the longest call of the keeper takes
 * 0.3 ms (bench/results/summaries.md). We measured 18 bytes per hash, and 72 for a `Map` with
 * BigInt keys.
 *
 * Two keys with the same 64-bit hash are one entry. Among a million keys that has a chance of 3 in
 * 100 million, and costs a neighbour one false answer.
 */

import type { HashHalves } from './owner-question.ts';
import { PagedIntegers } from './paged-integers.ts';

const PARTS = 1024;
const LEAST_SLOTS = 8;
const EMPTY = -1;

interface Part {
  /** Numbers of entries, or EMPTY. Its length is a power of two, at most two thirds are in use. */
  slots: Int32Array;
  count: number;
}

export class HashLedger {
  readonly #parts: Part[] = Array.from({ length: PARTS }, () => ({
    slots: new Int32Array(LEAST_SLOTS).fill(EMPTY),
    count: 0,
  }));
  readonly #lows = new PagedIntegers((length) => new Uint32Array(length));
  readonly #highs = new PagedIntegers((length) => new Uint32Array(length));
  /** 1 for numbers in use. */
  readonly #used = new PagedIntegers((length) => new Uint8Array(length));
  #free: number[] = [];
  /** All numbers from here on are unused. */
  #end = 0;

  get size(): number {
    return this.#end - this.#free.length;
  }

  /** The number of a hash, or -1 if it is not in the table. */
  find({ low, high }: HashHalves): number {
    const part = this.#partOf(high);
    return part.slots[this.#slotOf(part, low, high)]!;
  }

  /** Adds a hash and returns its number, even if it was there already. */
  add({ low, high }: HashHalves): number {
    const part = this.#partOf(high);
    const slot = this.#slotOf(part, low, high);
    const known = part.slots[slot]!;
    if (known !== EMPTY) return known;
    const entry = this.#take(low, high);
    part.slots[slot] = entry;
    part.count++;
    if (3 * part.count > 2 * part.slots.length) this.#growPart(part);
    return entry;
  }

  /** Removes a hash by its number. */
  remove(entry: number): void {
    if (entry >= this.#end || this.#used.get(entry) !== 1) {
      throw new RangeError(`Cannot remove a hash: expected the number of an entry, got ${entry}`);
    }
    const low = this.#lows.get(entry);
    const high = this.#highs.get(entry);
    const part = this.#partOf(high);
    this.#emptySlot(part, this.#slotOf(part, low, high));
    part.count--;
    this.#used.set(entry, 0);
    this.#free.push(entry);
  }

  /** The hash of an entry. */
  hashAt(entry: number): HashHalves {
    return { low: this.#lows.get(entry), high: this.#highs.get(entry) };
  }

  /**
   * All hashes. The table may change meanwhile: a hash that stays in it is given once, one that
   * comes or goes may or may not be.
   */
  *hashes(): Generator<HashHalves, void, undefined> {
    for (const entry of this.entries()) yield this.hashAt(entry);
  }

  /** The numbers of all entries, under the same condition. */
  *entries(): Generator<number, void, undefined> {
    for (let entry = 0; entry < this.#end; entry++) if (this.#used.get(entry) === 1) yield entry;
  }

  #partOf(high: number): Part {
    return this.#parts[high % PARTS]!;
  }

  /** The slot of a hash, or the empty one where it belongs. */
  #slotOf({ slots }: Part, low: number, high: number): number {
    const mask = slots.length - 1;
    let slot = low & mask;
    for (;;) {
      const entry = slots[slot]!;
      if (entry === EMPTY || (this.#lows.get(entry) === low && this.#highs.get(entry) === high)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #take(low: number, high: number): number {
    const entry = this.#free.pop() ?? this.#end++;
    this.#lows.cover(entry + 1);
    this.#highs.cover(entry + 1);
    this.#used.cover(entry + 1);
    this.#lows.set(entry, low);
    this.#highs.set(entry, high);
    this.#used.set(entry, 1);
    return entry;
  }

  /** Empties a slot and moves later entries of the same run up, so that no search stops early. */
  #emptySlot({ slots }: Part, emptied: number): void {
    const mask = slots.length - 1;
    let hole = emptied;
    for (let slot = (hole + 1) & mask; slots[slot] !== EMPTY; slot = (slot + 1) & mask) {
      const home = this.#lows.get(slots[slot]!) & mask;
      // The entry may move if its home is not between the hole and its slot.
      if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
      slots[hole] = slots[slot]!;
      hole = slot;
    }
    slots[hole] = EMPTY;
  }

  #growPart(part: Part): void {
    const old = part.slots;
    part.slots = new Int32Array(2 * old.length).fill(EMPTY);
    for (const entry of old) {
      if (entry !== EMPTY)
        part.slots[this.#slotOf(part, this.#lows.get(entry), this.#highs.get(entry))] = entry;
    }
  }
}
