/**
 * Finds the keys that belong to a few ids: one pass over all hashes of a set, with a table of the
 * ids that usually fits into the first cache. A table of all keys would cost ten times as much to
 * build.
 *
 * The peer chooses the ids and knows the salt, so it can choose a million of them for one slot. An
 * id that is too far from its slot is therefore called ambiguous, which costs the session another
 * attempt. At most a quarter of the table is in use, so random ids never get there: a run of 64
 * slots has a probability of 10^-17 per id.
 */

import { halfMask } from '../wire/half-mask.ts';

export const NOT_FOUND = -1;
/** More than one key has the id, or a hostile peer chose it. */
export const AMBIGUOUS = -2;

/** Slots in which an id can be. */
const MOST_PROBES = 64;

/**
 * For each id the number of its key in `words`, `NOT_FOUND` or `AMBIGUOUS`. Ids are given by their
 * upper and lower halves in turn, and only the first `bits` bits of them and of the hashes count.
 */
export function findIds(words: Int32Array, ids: Int32Array, bits: number): Int32Array {
  const count = ids.length / 2;
  const found = new Int32Array(count).fill(NOT_FOUND);
  if (count === 0) return found;
  const highMask = halfMask(bits);
  const lowMask = halfMask(bits - 32);
  const shift = Math.max(1, Math.clz32(count) - 2);
  const table = new Int32Array(2 ** (32 - shift));
  const end = table.length - 1;
  for (let k = 0; k < count; k++) {
    const high = ids[2 * k] & highMask;
    let slot = high >>> shift;
    let left = MOST_PROBES;
    while (table[slot] !== 0 && --left > 0) slot = (slot + 1) & end;
    if (left > 0) table[slot] = k + 1;
    else found[k] = AMBIGUOUS;
  }
  for (let i = 0; i < words.length; i += 2) {
    const low = words[i] & lowMask;
    const high = words[i + 1] & highMask;
    let left = MOST_PROBES;
    for (let slot = high >>> shift; table[slot] !== 0 && left-- > 0; slot = (slot + 1) & end) {
      const k = table[slot] - 1;
      if ((ids[2 * k] & highMask) !== high || (ids[2 * k + 1] & lowMask) !== low) continue;
      found[k] = found[k] === NOT_FOUND ? i / 2 : AMBIGUOUS;
    }
  }
  return found;
}
