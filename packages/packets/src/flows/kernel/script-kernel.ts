/**
 * The hot loops of the flow table in JavaScript. Twin: assembly/flows/flow-table.ts. Both work on
 * the memory of layout.ts and leave the same bytes there (scratch excepted), so the operations that
 * are not hot exist only here, and work on the memory of either.
 *
 * `absorb` counts a key in its entry, if it has one: one look into the index, then two additions.
 * While the threshold is 0, a key without an entry gets one: the table is exact. Above 0 it goes
 * through a multistage filter (parallel, conservative update), and gets an entry when its bound
 * reaches the threshold. flow-table.ts has the proofs.
 */

import { AMOUNTS_AT, entryBytes, type FlowLayout, KEYS_AT, OTHERS_AT, SATURATED, STATE } from './layout.ts';
import { rowPlace } from './row-place.ts';
import { sipHashWords } from './siphash.ts';

export interface FlowKernel {
  readonly buffer: ArrayBuffer;
  /**
   * Counts the keys of the batch from number `from` on. Returns the number of the first one that
   * was not counted: `count`, or less if the table is full.
   */
  absorb(from: number, count: number): number;
  /** Makes an index of 2^(32 - shift) slots. */
  rebuild(shift: number): void;
  /** Raises the threshold; entries below it leave the table for the filter, except held ones. */
  evict(threshold: number): void;
}

export class ScriptKernel implements FlowKernel {
  readonly buffer: ArrayBuffer;
  readonly #layout: FlowLayout;
  readonly #words: Int32Array;
  readonly #counters: Uint32Array;
  readonly #doubles: Float64Array;
  readonly #hash = new Int32Array(2);

  constructor(buffer: ArrayBuffer, layout: FlowLayout) {
    this.buffer = buffer;
    this.#layout = layout;
    this.#words = new Int32Array(buffer);
    this.#counters = new Uint32Array(buffer);
    this.#doubles = new Float64Array(buffer);
  }

  absorb(from: number, count: number): number {
    const words = this.#words;
    const doubles = this.#doubles;
    const threshold = doubles[STATE.threshold / 8];
    const { arenaAt, beforeAt, mostSlots } = this.#layout;
    const arenaBytes = words[STATE.arenaBytes / 4];
    const mostEntries = words[STATE.mostEntries / 4];
    let at = words[STATE.nextKey / 4];
    for (let i = from; i < count; i++) {
      const size = 8 * (words[at >> 2] & 0xff);
      const amount = doubles[AMOUNTS_AT / 8 + i];
      const other = doubles[OTHERS_AT / 8 + i];
      this.#hashAt(at);
      const slot = this.#slotOf(at);
      const place = words[slot + 1];
      if (place !== 0) {
        const counts = (arenaAt + 32 * (place - 1) + size) / 8;
        doubles[counts] += amount;
        doubles[counts + 1] += other;
        at += size;
        continue;
      }
      let before = 0;
      if (threshold > 0) {
        before = Math.min(this.#least(), threshold);
        if (before + amount < threshold) {
          this.#raise(before + amount);
          at += size;
          continue;
        }
      }
      const used = words[STATE.used / 4];
      if (words[STATE.entries / 4] >= mostEntries || used + entryBytes(size) > arenaBytes) {
        words[STATE.nextKey / 4] = at;
        return i;
      }
      words.copyWithin((arenaAt + used) / 4, at / 4, (at + size) / 4);
      const counts = (arenaAt + used + size) / 8;
      doubles[counts] = amount;
      doubles[counts + 1] = other;
      if (threshold > 0) doubles[(beforeAt + used / 4) / 8] = before;
      words[slot] = this.#hash[1];
      words[slot + 1] = used / 32 + 1;
      words[STATE.used / 4] = used + entryBytes(size);
      const entries = ++words[STATE.entries / 4];
      const slots = slotMask(words[STATE.shift / 4]) + 1;
      if (entries * 4 > slots * 3 && slots < mostSlots) this.#grow();
      at += size;
    }
    words[STATE.nextKey / 4] = at;
    return count;
  }

  rebuild(shift: number): void {
    const words = this.#words;
    const { indexAt, arenaAt } = this.#layout;
    words.fill(0, indexAt / 4, indexAt / 4 + 2 * (slotMask(shift) + 1));
    const used = words[STATE.used / 4];
    for (let at = 0; at < used; at += entryBytes(8 * (words[(arenaAt + at) / 4] & 0xff))) {
      this.#hashAt(arenaAt + at);
      this.#placeTag(this.#hash[1], at / 32 + 1, shift);
    }
    words[STATE.shift / 4] = shift;
  }

  evict(threshold: number): void {
    const words = this.#words;
    const doubles = this.#doubles;
    const { arenaAt, beforeAt, estimateBytes } = this.#layout;
    const used = words[STATE.used / 4];
    const held = words[STATE.held / 4];
    const wasExact = doubles[STATE.threshold / 8] === 0;
    let kept = 0;
    let entries = 0;
    for (let at = 0; at < used; ) {
      const entry = arenaAt + at;
      const size = 8 * (words[entry / 4] & 0xff);
      const before = wasExact ? 0 : doubles[(beforeAt + at / 4) / 8];
      const bound = doubles[(entry + size) / 8] + before;
      const bytes = entryBytes(size);
      if (at < held || bound >= threshold) {
        words.copyWithin((arenaAt + kept) / 4, entry / 4, (entry + bytes) / 4);
        if (!wasExact) doubles[(beforeAt + kept / 4) / 8] = before;
        kept += bytes;
        entries++;
      } else {
        this.#hashAt(entry);
        this.#raise(bound);
      }
      at += bytes;
    }
    if (wasExact) {
      doubles.fill(0, beforeAt / 8, (beforeAt + kept / 4) / 8);
      words[STATE.arenaBytes / 4] = estimateBytes;
    }
    words[STATE.used / 4] = kept;
    words[STATE.entries / 4] = entries;
    doubles[STATE.threshold / 8] = threshold;
    this.rebuild(words[STATE.shift / 4]);
  }

  /**
   * Looks up the first key at KEYS. Returns the offset of its entry in the memory, or 0 if it has
   * none.
   */
  find(): number {
    this.#hashAt(KEYS_AT);
    const place = this.#words[this.#slotOf(KEYS_AT) + 1];
    return place === 0 ? 0 : this.#layout.arenaAt + 32 * (place - 1);
  }

  /** The filter's bound on the first key at KEYS: its least counter, Infinity if that is full. */
  filterBound(): number {
    this.#hashAt(KEYS_AT);
    return this.#least();
  }

  /**
   * Doubles the slots of the index. A slot is the upper bits of its tag, so the entries come in the
   * order of their new slots, and no key has to be hashed again. The old slots wait behind the
   * entries; where they do not fit, all keys are hashed.
   */
  #grow(): void {
    const words = this.#words;
    const { indexAt, arenaAt } = this.#layout;
    const used = words[STATE.used / 4];
    const shift = words[STATE.shift / 4] - 1;
    const half = slotMask(shift) + 1;
    if (used + 4 * half > words[STATE.arenaBytes / 4]) {
      this.rebuild(shift);
      return;
    }
    const old = (arenaAt + used) / 4;
    words.copyWithin(old, indexAt / 4, indexAt / 4 + half);
    words.fill(0, indexAt / 4, indexAt / 4 + 2 * half);
    for (let at = old; at < old + half; at += 2) {
      if (words[at + 1] !== 0) this.#placeTag(words[at], words[at + 1], shift);
    }
    words.fill(0, old, old + half);
    words[STATE.shift / 4] = shift;
  }

  #placeTag(tag: number, place: number, shift: number): void {
    const words = this.#words;
    const index = this.#layout.indexAt / 4;
    const mask = slotMask(shift);
    let slot = tag >>> shift;
    while (words[index + 2 * slot + 1] !== 0) slot = (slot + 1) & mask;
    words[index + 2 * slot] = tag;
    words[index + 2 * slot + 1] = place;
  }

  #hashAt(at: number): void {
    const words = this.#words;
    sipHashWords(words, at >> 2, words[at >> 2] & 0xff, this.#secret, this.#hash);
  }

  get #secret(): Int32Array {
    return this.#words.subarray(STATE.secret / 4, STATE.secret / 4 + 4);
  }

  /** The slot of the hashed key at `at`, or the empty slot where it belongs; an index of words. */
  #slotOf(at: number): number {
    const words = this.#words;
    const { indexAt, arenaAt } = this.#layout;
    const shift = words[STATE.shift / 4];
    const mask = slotMask(shift);
    const length = 2 * (words[at >> 2] & 0xff);
    for (let slot = this.#hash[1] >>> shift; ; slot = (slot + 1) & mask) {
      const here = indexAt / 4 + 2 * slot;
      const place = words[here + 1];
      if (place === 0) return here;
      if (words[here] !== this.#hash[1]) continue;
      const entry = arenaAt / 4 + 8 * (place - 1);
      let same = 0;
      while (same < length && words[entry + same] === words[at / 4 + same]) same++;
      if (same === length) return here;
    }
  }

  #least(): number {
    let least = SATURATED;
    for (let row = 0; row < this.#layout.depth; row++) {
      least = Math.min(least, this.#counters[this.#counterAt(row)]);
    }
    return least === SATURATED ? Number.POSITIVE_INFINITY : least;
  }

  #raise(bound: number): void {
    const value = Math.min(bound, SATURATED);
    for (let row = 0; row < this.#layout.depth; row++) {
      const at = this.#counterAt(row);
      if (this.#counters[at] < value) this.#counters[at] = value;
    }
  }

  /** The counter of the hashed key in a row. */
  #counterAt(row: number): number {
    const { width } = this.#layout;
    return this.#words[STATE.filter / 4] / 4 + row * width + rowPlace(this.#hash, row, width);
  }
}

function slotMask(shift: number): number {
  return 0xffffffff >>> shift;
}
