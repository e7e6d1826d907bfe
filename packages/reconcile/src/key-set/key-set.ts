/**
 * A set of keys that keeps its symbols while keys come and go, so that a session starts at once. An
 * unchanged set of a million keys answers in microseconds, because nothing is hashed or encoded.
 *
 * Symbols can be kept only under a key that stays the same. Both sides of a session use them if
 * both are `KeySet`s with the same secret; otherwise, and in a second attempt, keys are hashed
 * under a fresh salt as usual. Peers that know the secret can craft keys that look alike, so it is
 * for peers that trust each other.
 *
 * Memory per key: the key itself, 8 bytes for its hash, and 8 to 16 bytes of a table that finds it.
 */

import { FrameError, type HashScheme, hashKey, hashKeys, type Key, SecretKey } from 'bloomery';
import type { OwnSet } from '../session/own-set.ts';
import { COUNTERS, countHash } from '../sets/hash-counters.ts';
import { sumOfHashes } from '../sets/hashed-keys.ts';
import { sameKey } from '../sets/key-source.ts';
import { CELL } from '../symbols/cell.ts';
import { findInTable } from './find-in-table.ts';
import { changeCells, KeptBlocks } from './kept-cells.ts';
import { decodeKeySet, encodeKeySet, MOST_KEPT } from './key-set-frame.ts';

export interface KeySetOptions {
  /** 16 random bytes that all peers share, which never leave them. */
  readonly secret: Uint8Array;
  /** Number of symbols to keep, from 64 to 65,536. Default 1024, enough for 700 differences. */
  readonly symbols?: number;
}

export interface KeySetDecodeOptions {
  readonly secret: Uint8Array;
}

export class KeySet {
  readonly #scheme: HashScheme;
  #keys: Key[] = [];
  /** Lower and upper halves of the hashes in turn, with room for more. */
  #words = new Int32Array(32);
  /** Places of keys plus one, by the upper bits of their hashes; at most half full. */
  #table = new Uint32Array(64);
  #cells: Int32Array<ArrayBuffer>;
  #sum = 0n;
  readonly #counters = new Uint8Array(COUNTERS);
  /** True if a session uses the arrays, so that a change has to copy them first. */
  #shared = false;

  constructor({ secret, symbols = 1024 }: KeySetOptions) {
    if (!Number.isInteger(symbols) || symbols < 64 || symbols > MOST_KEPT)
      throw new RangeError(`Cannot make a key set: expected 64 to ${MOST_KEPT} symbols, got ${symbols}`);
    this.#scheme = new SecretKey(secret).scheme;
    this.#cells = new Int32Array(CELL * symbols);
  }

  get size(): number {
    return this.#keys.length;
  }

  has(key: Key): boolean {
    const { low, high } = hashKey(key, this.#scheme);
    return this.#slotOf(key, low | 0, high | 0) >= 0;
  }

  /** Adds a key. Returns false if it was there. */
  add(key: Key): boolean {
    const { low, high } = hashKey(key, this.#scheme);
    return this.#addHashed(key, low | 0, high | 0);
  }

  /** Adds keys. Returns the number of those that were not there. */
  addMany(keys: Iterable<Key>): number {
    const list = Array.from(keys);
    const { words } = hashKeys(list, this.#scheme);
    return list.reduce<number>(
      (added, key, i) => added + (this.#addHashed(key, words[2 * i], words[2 * i + 1]) ? 1 : 0),
      0,
    );
  }

  /** Takes a key out. Returns false if it was not there. */
  delete(key: Key): boolean {
    const hash = hashKey(key, this.#scheme);
    const [low, high] = [hash.low | 0, hash.high | 0];
    const slot = this.#slotOf(key, low, high);
    if (slot < 0) return false;
    this.#beforeChange();
    const place = this.#table[slot] - 1;
    this.#closeSlot(slot);
    changeCells(this.#cells, low, high, -1);
    countHash(this.#counters, low, -1);
    this.#sum = BigInt.asUintN(64, this.#sum - sumOfHashes(Int32Array.of(low, high)));
    // The last key takes the free place.
    const last = this.#keys.length - 1;
    if (place < last) {
      const [lastLow, lastHigh] = this.#words.subarray(2 * last, 2 * last + 2);
      this.#table[this.#slotOfPlace(last, lastHigh)] = place + 1;
      this.#words[2 * place] = lastLow;
      this.#words[2 * place + 1] = lastHigh;
      this.#keys[place] = this.#keys[last];
    }
    this.#keys.pop();
    return true;
  }

  /** The keys, in no particular order. */
  [Symbol.iterator](): Iterator<Key> {
    return this.#keys.slice()[Symbol.iterator]();
  }

  /**
   * Writes the set: keys, symbols and the check value of the secret, never the secret itself. The
   * same keys give the same bytes. docs/spec/reconcile.md has the format.
   */
  encode(): Uint8Array<ArrayBuffer> {
    const words = this.#words.subarray(0, 2 * this.size);
    return encodeKeySet({ check: this.#scheme.seed, cells: this.#cells, keys: this.#keys, words });
  }

  /** Reads a set that `encode` wrote. Its keys are Uint8Arrays. Throws a `FrameError`. */
  static decode(bytes: Uint8Array, { secret }: KeySetDecodeOptions): KeySet {
    const { cells, keys } = decodeKeySet(bytes, new SecretKey(secret).scheme.seed);
    const set = new KeySet({ secret, symbols: cells.length / CELL });
    set.#fill(keys);
    if (set.size < keys.length)
      throw new FrameError('payload', 0, 'expected each key once, got a key twice', 'key set');
    set.#cells = cells;
    return set;
  }

  /** @internal The set as a session sees it. Later changes do not reach the session. */
  snapshot(): OwnSet {
    this.#shared = true;
    const keys = this.#keys;
    const words = this.#words.subarray(0, 2 * this.size);
    const cells = this.#cells;
    const table = this.#table;
    return {
      source: {
        size: keys.length,
        keyAt: (place) => keys[place],
        hashes: (scheme) => hashKeys(keys, scheme).words,
      },
      kept: {
        scheme: this.#scheme,
        hashed: { words, size: keys.length, places: null },
        sum: this.#sum,
        counters: this.#counters.slice(),
        blocks: () => new KeptBlocks(cells, words),
        find: (ids, bits) => findInTable(table, words, ids, bits),
      },
    };
  }

  /** Adds keys without changing the symbols, which are at hand. */
  #fill(keys: readonly Key[]): void {
    const cells = this.#cells;
    this.#cells = new Int32Array(CELL);
    this.addMany(keys);
    this.#cells = cells;
  }

  #addHashed(key: Key, low: number, high: number): boolean {
    if (this.#slotOf(key, low, high) >= 0) return false;
    this.#beforeChange();
    const place = this.#keys.length;
    if (2 * place === this.#words.length) this.#grow();
    this.#words[2 * place] = low;
    this.#words[2 * place + 1] = high;
    this.#keys.push(key);
    let slot = this.#home(high);
    while (this.#table[slot] !== 0) slot = this.#after(slot);
    this.#table[slot] = place + 1;
    changeCells(this.#cells, low, high, 1);
    countHash(this.#counters, low, 1);
    this.#sum = BigInt.asUintN(64, this.#sum + sumOfHashes(Int32Array.of(low, high)));
    return true;
  }

  #beforeChange(): void {
    if (!this.#shared) return;
    this.#keys = this.#keys.slice();
    this.#words = this.#words.slice();
    this.#table = this.#table.slice();
    this.#cells = this.#cells.slice();
    this.#shared = false;
  }

  #home(high: number): number {
    return high >>> (Math.clz32(this.#table.length) + 1);
  }

  #after(slot: number): number {
    return (slot + 1) & (this.#table.length - 1);
  }

  /** The slot of a key, or -1 if it is not in the set. */
  #slotOf(key: Key, low: number, high: number): number {
    for (let slot = this.#home(high); this.#table[slot] !== 0; slot = this.#after(slot)) {
      const place = this.#table[slot] - 1;
      if (this.#words[2 * place] !== low || this.#words[2 * place + 1] !== high) continue;
      if (sameKey(this.#keys[place], key)) return slot;
    }
    return -1;
  }

  #slotOfPlace(place: number, high: number): number {
    let slot = this.#home(high);
    while (this.#table[slot] !== place + 1) slot = this.#after(slot);
    return slot;
  }

  /** Empties a slot and moves later ones back, so that no search ends too early. */
  #closeSlot(empty: number): void {
    const end = this.#table.length - 1;
    let hole = empty;
    for (let slot = this.#after(hole); this.#table[slot] !== 0; slot = this.#after(slot)) {
      const home = this.#home(this.#words[2 * this.#table[slot] - 1]);
      if (((slot - home) & end) < ((slot - hole) & end)) continue;
      this.#table[hole] = this.#table[slot];
      hole = slot;
    }
    this.#table[hole] = 0;
  }

  #grow(): void {
    const words = new Int32Array(2 * this.#words.length);
    words.set(this.#words);
    this.#words = words;
    this.#table = new Uint32Array(2 * words.length);
    for (let place = 0; place < this.#keys.length; place++) {
      let slot = this.#home(words[2 * place + 1]);
      while (this.#table[slot] !== 0) slot = this.#after(slot);
      this.#table[slot] = place + 1;
    }
  }
}
