/**
 * A growing set of positions below m: a packed sorted list (sorted-list.ts), and positions that
 * wait to be merged into it.
 *
 * A merge reads the whole list, so it must be rare. Single positions wait in a sorted tail, which
 * holds at most a 64th of the list; on average each then costs 64 steps of a merge, whatever the
 * size. The positions of a batch wait in a plain array, and are sorted and merged a million keys at
 * a time. Only then is it known which of the keys were new. Methods that need the list itself call
 * `settle` first. The list is exactly as large as its positions need: merging makes a new one,
 * without spare room.
 */

import { BitStore } from '../../kernel/bits/bit-store.ts';
import { probeIndex } from '../../kernel/bits/classic.ts';
import {
  intersectLists,
  listIncludes,
  listWords,
  mergeBatch,
  positionWidth,
  readPosition,
  uniteLists,
  writePosition,
} from '../../kernel/lists/sorted-list.ts';
import { SortedTail } from './sorted-tail.ts';

/** The tail may hold one 64th of the list, or `LEAST_TAIL` positions if that is more. */
export const TAIL_SHARE = 64;
const LEAST_TAIL = 64;
const MOST_PENDING = 2 ** 20;

export class PositionList {
  readonly m: number;
  readonly width: number;
  store: BitStore;
  count: number;
  /** How many keys of batches added a new position, up to the last `settle`. */
  freshKeys = 0;
  readonly #tail = new SortedTail();
  /** Codes for `mergeBatch`, and the number of keys that they come from. */
  #pending = new Float64Array(0);
  #pendingLength = 0;
  #pendingKeys = 0;
  /**
   * A code is position · scale + number of the key. The factor is as large as exact doubles allow.
   */
  readonly #scale: number;

  /** Makes an empty list, or a list of `count` positions in a store of the right size. */
  constructor(m: number, store?: BitStore, count = 0) {
    this.m = m;
    this.width = positionWidth(m);
    this.#scale = 2 ** (53 - this.width);
    this.store = store ?? this.#allocate(0);
    this.count = count;
  }

  /** Makes a list from `count` packed positions. `firstUnsound` tells whether they are valid. */
  static fromBytes(m: number, bytes: Uint8Array, count: number): PositionList {
    const store = BitStore.allocate(32 * listWords(count, positionWidth(m)));
    store.setBytes(bytes);
    return new PositionList(m, store, count);
  }

  /** Makes a list from the `count` ones in `bytes`. */
  static fromBits(m: number, bytes: Uint8Array, count: number): PositionList {
    const list = new PositionList(m);
    list.#replace(list.#allocate(count), count);
    const { words } = list.store;
    for (let at = 0, i = 0; at < bytes.length; at++) {
      for (let rest = bytes[at]; rest !== 0; rest &= rest - 1) {
        writePosition(words, list.width, i++, 8 * at + 31 - Math.clz32(rest & -rest));
      }
    }
    return list;
  }

  /** Whether no position waits, so that `store` and `count` are the whole list. */
  get settled(): boolean {
    return this.#tail.count === 0 && this.#pendingKeys === 0;
  }

  get byteLength(): number {
    return this.store.wordCount * 4 + this.#tail.byteLength + this.#pending.byteLength;
  }

  /** Whether a position is in the list or waits to be merged. */
  includes(position: number): boolean {
    if (this.#pendingKeys > 0) this.settle();
    return (
      listIncludes(this.store.words, this.width, this.count, this.m, position) || this.#tail.has(position)
    );
  }

  /** Adds a position; returns false if it was there already. */
  insert(position: number): boolean {
    if (this.includes(position)) return false;
    this.#tail.insert(position);
    if (this.#tail.count >= Math.max(LEAST_TAIL, this.count / TAIL_SHARE)) this.settle();
    return true;
  }

  /**
   * Takes the k positions of each of `keys` hashes (low and high halves in turn), to be merged
   * later.
   */
  queue(hashes: Int32Array, keys: number, k: number): void {
    const most = Math.min(this.#scale, MOST_PENDING);
    if (this.#pendingKeys + keys > most) this.settle();
    const wanted = this.#pendingLength + keys * k;
    if (wanted > this.#pending.length) {
      const larger = new Float64Array(Math.max(2 * this.#pending.length, wanted));
      larger.set(this.#pending);
      this.#pending = larger;
    }
    const codes = this.#pending;
    let at = this.#pendingLength;
    for (let key = 0; key < keys; key++) {
      for (let i = 0; i < k; i++) {
        const position = probeIndex(hashes[2 * key], hashes[2 * key + 1], i, this.m);
        codes[at++] = position * this.#scale + this.#pendingKeys + key;
      }
    }
    this.#pendingLength = at;
    this.#pendingKeys += keys;
  }

  /** Merges all waiting positions into the list. */
  settle(): this {
    if (this.#tail.count > 0) this.#merge(this.#tail.take(), 1, new Uint8Array(1));
    if (this.#pendingKeys === 0) return this;
    const fresh = new Uint8Array(this.#pendingKeys);
    this.#merge(this.#pending.subarray(0, this.#pendingLength), this.#scale, fresh);
    this.#pending = new Float64Array(0);
    this.#pendingLength = 0;
    this.#pendingKeys = 0;
    for (let i = 0; i < fresh.length; i++) this.freshKeys += fresh[i];
    return this;
  }

  // The following methods require settled lists.

  copy(): PositionList {
    return new PositionList(this.m, this.store.copy(), this.count);
  }

  unite(other: PositionList): void {
    const store = this.#allocate(this.count + other.count);
    const [a, b] = [this.store.words, other.store.words];
    this.#replace(store, uniteLists(a, this.count, b, other.count, this.width, store.words));
  }

  intersection(other: PositionList): PositionList {
    const both = new PositionList(this.m);
    const store = this.#allocate(Math.min(this.count, other.count));
    both.#replace(store, this.#intersect(other, store.words));
    return both;
  }

  sharedCount(other: PositionList): number {
    return this.#intersect(other, null);
  }

  /** Sets the bit of each position. */
  setBits(words: Uint32Array): void {
    for (let i = 0; i < this.count; i++) {
      const position = readPosition(this.store.words, this.width, i);
      words[Math.floor(position / 32)] |= 1 << (position & 31);
    }
  }

  /**
   * The index of the first position that is not below m, or not above the one before it; -1 if all
   * are valid.
   */
  firstUnsound(): number {
    for (let i = 0, last = -1; i < this.count; i++) {
      const position = readPosition(this.store.words, this.width, i);
      if (position <= last || position >= this.m) return i;
      last = position;
    }
    return -1;
  }

  #intersect(other: PositionList, target: Uint32Array | null): number {
    const [a, b] = [this.store.words, other.store.words];
    return intersectLists(a, this.count, b, other.count, this.width, target);
  }

  #merge(codes: Float64Array, scale: number, fresh: Uint8Array): void {
    const store = this.#allocate(this.count + codes.length);
    const { words } = this.store;
    this.#replace(store, mergeBatch(words, this.count, this.width, codes, scale, fresh, store.words));
  }

  #allocate(count: number): BitStore {
    return BitStore.allocate(32 * listWords(count, this.width));
  }

  /** Takes over a list that was allocated for `count` positions or more, and trims its memory. */
  #replace(store: BitStore, count: number): void {
    const needed = listWords(count, this.width);
    this.store = needed === store.wordCount ? store : new BitStore(store.words.slice(0, needed));
    this.count = count;
  }
}
