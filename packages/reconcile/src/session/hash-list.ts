/**
 * A list of all keys of the responder by the first bits of their hashes. It is the shortest answer
 * for sets of up to about 200 keys, and the last resort when symbols have failed twice.
 */

import { NOT_FOUND } from '../sets/find-ids.ts';
import type { HashedKeys } from '../sets/hashed-keys.ts';
import type { ByteReader } from '../wire/byte-reader.ts';
import { LIST_BITS } from '../wire/message-types.ts';
import { encodeSortedList } from '../wire/sorted-list.ts';

/**
 * The bits of a hash in a list. In the first attempt fewer than one session in 256 fails because a
 * key of one side looks like another of the other side; later attempts take all bits.
 */
export function listBits(here: number, there: number, attempt: number): number {
  if (attempt > 0) return LIST_BITS;
  return Math.min(LIST_BITS, Math.ceil(Math.log2(here + 1) + Math.log2(there + 1)) + 8);
}

/** The first `bits` bits of a hash, as a number. */
export function prefixOf(high: number, low: number, bits: number): number {
  return Math.floor(((high >>> 0) * 2 ** 20 + (low >>> 12)) / 2 ** (LIST_BITS - bits));
}

export interface HashList {
  readonly body: Uint8Array;
  /** The numbers of the keys at these places of the list. */
  keysAt(places: Float64Array, reader: ByteReader): Int32Array;
}

/** The list of all keys. */
export function hashList({ words, size }: HashedKeys, bits: number): HashList {
  const values = new Float64Array(size);
  for (let k = 0; k < size; k++) values[k] = prefixOf(words[2 * k + 1], words[2 * k], bits);
  const order = Uint32Array.from(values, (_, k) => k).sort((a, b) => values[a] - values[b]);
  return {
    body: encodeSortedList(values.sort(), bits),
    keysAt: (places, reader) =>
      Int32Array.from(places, (place) => order[place] ?? reader.refuse(`a place below ${size}`, place)),
  };
}

/** The result of comparing a list with our keys. */
export interface ListMatch {
  /** The numbers of our keys that are not in the list. */
  readonly onlyHere: Int32Array;
  /** The places in the list of the keys that we lack. */
  readonly onlyThere: Float64Array;
}

/**
 * Compares a list with our keys. `found` has for each of its values the number of our key, as
 * `findIds` gives it. Null if two keys of one side look alike, so that the list cannot tell which
 * one the other side holds.
 */
export function matchList(found: Int32Array, size: number): ListMatch | null {
  const ours = new Uint8Array(size);
  const onlyThere: number[] = [];
  for (let i = 0; i < found.length; i++) {
    const number = found[i];
    if (number === NOT_FOUND) onlyThere.push(i);
    else if (number < 0 || ours[number]++ > 0) return null;
  }
  const onlyHere: number[] = [];
  for (let k = 0; k < size; k++) if (ours[k] === 0) onlyHere.push(k);
  return { onlyHere: Int32Array.from(onlyHere), onlyThere: Float64Array.from(onlyThere) };
}
