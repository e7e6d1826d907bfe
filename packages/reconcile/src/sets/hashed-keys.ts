/**
 * The hashes of one side's keys under one salt, each key once. `places` leads back to the source.
 */

import type { HashScheme } from 'bloomery';
import { wrongOption } from '../reconcile-error.ts';
import { type KeySource, sameKey, textOf } from './key-source.ts';

export interface HashedKeys {
  /** Lower and upper halves in turn. */
  readonly words: Int32Array;
  readonly size: number;
  /** The place of each key in its source, or null if they are the same. */
  readonly places: Uint32Array | null;
}

/** Hashes the keys of a source and leaves out repeated ones. */
export function hashedKeys(source: KeySource, scheme: HashScheme): HashedKeys {
  const all = { words: source.hashes(scheme), size: source.size, places: null };
  const repeated = repeatedPlaces(all.words, source);
  return repeated.size === 0 ? all : selected(all, (k) => !repeated.has(k));
}

/** The place of key k in its source. */
function placeOf({ places }: HashedKeys, k: number): number {
  return places === null ? k : places[k];
}

/** The keys for which `keep` is true. */
export function selected(keys: HashedKeys, keep: (k: number) => boolean): HashedKeys {
  const words = new Int32Array(2 * keys.size);
  const places = new Uint32Array(keys.size);
  let size = 0;
  for (let k = 0; k < keys.size; k++) {
    if (!keep(k)) continue;
    words[2 * size] = keys.words[2 * k];
    words[2 * size + 1] = keys.words[2 * k + 1];
    places[size++] = placeOf(keys, k);
  }
  return { words: words.slice(0, 2 * size), size, places: places.slice(0, size) };
}

/**
 * Sum of 64-bit hashes modulo 2^64. An addition, and not an XOR, so that it does not follow from
 * the symbols.
 */
export function sumOfHashes(words: Int32Array): bigint {
  let low = 0;
  let high = 0;
  for (let i = 0; i < words.length; i += 2) {
    low += words[i] >>> 0;
    high = (high + words[i + 1] + (low < 2 ** 32 ? 0 : 1)) | 0;
    low >>>= 0;
  }
  return BigInt.asUintN(64, (BigInt(high) << 32n) + BigInt(low));
}

/**
 * The places, in rising order, of all keys that are not among `active`, and of the `numbers` among
 * those. `active` is `all` or some of them in the same order.
 */
export function placesOutside(all: HashedKeys, active: HashedKeys, numbers: Int32Array): Uint32Array {
  if (all === active) return Uint32Array.from(numbers, (number) => placeOf(all, number)).sort();
  const marked = new Uint8Array(active.size);
  for (const number of numbers) marked[number] = 1;
  const places: number[] = [];
  for (let k = 0, a = 0; k < all.size; k++) {
    const place = placeOf(all, k);
    const inside = a < active.size && placeOf(active, a) === place;
    if (!inside || marked[a] === 1) places.push(place);
    if (inside) a++;
  }
  return Uint32Array.from(places);
}

/** Mean probes per key that only keys chosen for this salt need. */
const MOST_PROBES = 32;

/**
 * The places of keys that occur earlier as well.
 *
 * An initiator knows the salt of its first attempt beforehand. So a hostile one may have brought
 * keys into our set whose hashes all begin alike, and each of them would look through all the
 * others. For such sets there is a slower way that does not depend on hashes.
 */
function repeatedPlaces(words: Int32Array, source: KeySource): Set<number> {
  const repeated = new Set<number>();
  const size = source.size;
  const shift = Math.clz32(size) - 1;
  if (shift < 1) wrongOption('at most 2^30 keys', size, RangeError);
  // An open table of places plus one, at most half full.
  const table = new Uint32Array(2 ** (32 - shift));
  const end = table.length - 1;
  let left = MOST_PROBES * size;
  for (let k = 0; k < size; k++) {
    const low = words[2 * k];
    const high = words[2 * k + 1];
    let slot = high >>> shift;
    for (; table[slot] !== 0; slot = (slot + 1) & end) {
      if (--left < 0) return repeatedTexts(source);
      const other = table[slot] - 1;
      if (words[2 * other] !== low || words[2 * other + 1] !== high) continue;
      if (sameKey(source.keyAt(other), source.keyAt(k))) {
        repeated.add(k);
        break;
      }
    }
    if (table[slot] === 0) table[slot] = k + 1;
  }
  return repeated;
}

/** The same by a `Set` of texts, whose hash the platform salts. */
function repeatedTexts(source: KeySource): Set<number> {
  const repeated = new Set<number>();
  const texts = new Set<string>();
  for (let k = 0; k < source.size; k++)
    if (texts.size === texts.add(textOf(source.keyAt(k))).size) repeated.add(k);
  return repeated;
}
