/**
 * A list of all keys of the responder by the first bits of their hashes. It is the shortest answer
 * for sets of up to about 200 keys, and the last resort when symbols have failed twice.
 */

import { refuse } from '../reconcile-error.ts';
import type { HashedKeys } from '../sets/hashed-keys.ts';
import { encodeSortedList, LIST_BITS, type SortedList } from '../wire/sorted-list.ts';

/**
 * The bits of a hash in a list. In the first attempt fewer than one session in 256 fails because a
 * key of one side looks like another of the other side; later attempts take all bits.
 */
export function listBits(here: number, there: number, attempt: number): number {
  if (attempt > 0) return LIST_BITS;
  return Math.min(LIST_BITS, Math.ceil(Math.log2(here + 1) + Math.log2(there + 1)) + 8);
}

/** The first `bits` bits of hash k, as a number. */
export function prefixAt(words: Int32Array, k: number, bits: number): number {
  const whole = (words[2 * k + 1] >>> 0) * 2 ** 20 + (words[2 * k] >>> 12);
  return Math.floor(whole / 2 ** (LIST_BITS - bits));
}

export class HashList {
  readonly #bits: number;
  readonly #values: Float64Array;
  /** The numbers of the keys in the order of the list. */
  readonly #order: Uint32Array;

  constructor(keys: HashedKeys, bits: number) {
    const values = Float64Array.from({ length: keys.size }, (_, k) => prefixAt(keys.words, k, bits));
    this.#order = Uint32Array.from(values, (_, k) => k).sort((a, b) => values[a] - values[b]);
    this.#bits = bits;
    this.#values = values.sort();
  }

  encode(): Uint8Array {
    return encodeSortedList(this.#values, this.#bits);
  }

  /** The numbers of the keys at these places of the list. */
  keysAt(places: Float64Array, what: string): Int32Array {
    return Int32Array.from(places, (place) => {
      if (place >= this.#order.length) refuse(`a place below ${this.#order.length}`, place, what);
      return this.#order[place];
    });
  }
}

/** The result of comparing a list with our keys. */
export interface ListMatch {
  /** The numbers of our keys that are not in the list. */
  readonly onlyHere: Int32Array;
  /** The places in the list of the keys that we lack. */
  readonly onlyThere: Float64Array;
}

/**
 * Compares a list with our keys. Null if two keys of one side look alike, so that the list cannot
 * tell which one the other side holds.
 */
export function matchList({ values, bits }: SortedList, keys: HashedKeys): ListMatch | null {
  const places = new Map<number, number>();
  for (let i = 0; i < values.length; i++) places.set(values[i], i);
  const seen = new Uint8Array(values.length);
  const onlyHere: number[] = [];
  for (let k = 0; k < keys.size; k++) {
    const place = places.get(prefixAt(keys.words, k, bits));
    if (place === undefined) onlyHere.push(k);
    else if (seen[place] === 1) return null;
    else seen[place] = 1;
  }
  if (places.size < values.length) return null;
  const onlyThere: number[] = [];
  for (let i = 0; i < values.length; i++) if (seen[i] === 0) onlyThere.push(i);
  return { onlyHere: Int32Array.from(onlyHere), onlyThere: Float64Array.from(onlyThere) };
}
