/**
 * The ids of the responder's keys that the initiator lacks, as short as possible. The initiator
 * knows all ids of the responder: those found by symbols, and those of the common keys. So it can
 * choose a number of bits with which none of the told ids begins another id of the responder. That
 * takes about log2(n) + 5 bits per key in a sorted list, instead of 40.
 */

import { NOT_FOUND } from '../sets/find-ids.ts';
import { LIST_BITS } from '../wire/message-types.ts';
import { encodeSortedList, hasTwice } from '../wire/sorted-list.ts';
import { prefixOf } from './hash-list.ts';

/**
 * The list that tells the responder its keys. `ids` are halves in turn, upper and lower. We hold
 * `size` keys, `ours` are the numbers of those that the responder lacks, and `find` finds our keys.
 * Null if whole ids are ambiguous.
 */
export function encodeToldIds(
  ids: Int32Array,
  idBits: number,
  size: number,
  ours: ReadonlySet<number>,
  find: (ids: Int32Array, bits: number) => Int32Array,
): Uint8Array | null {
  const whole = Math.min(LIST_BITS, idBits);
  const count = ids.length / 2;
  // With 4 spare bits, one session in 16 has to take all bits of the ids.
  const short = Math.ceil(Math.log2(size + count + 1) + Math.log2(count + 1)) + 4;
  for (const bits of short < whole ? [short, whole] : [whole]) {
    const values = prefixesOf(ids, bits);
    const isClear = !hasTwice(values) && find(ids, bits).every((k) => k === NOT_FOUND || ours.has(k));
    if (isClear) return encodeSortedList(values, bits);
  }
  return null;
}

/** The first bits of ids, in rising order. */
function prefixesOf(ids: Int32Array, bits: number): Float64Array {
  const values = new Float64Array(ids.length / 2);
  for (let k = 0; k < values.length; k++) values[k] = prefixOf(ids[2 * k], ids[2 * k + 1], bits);
  return values.sort();
}

/** Ids that begin with these bits: halves in turn, upper and lower. */
export function idsOfPrefixes(values: Float64Array, bits: number): Int32Array {
  const ids = new Int32Array(2 * values.length);
  for (let i = 0; i < values.length; i++) {
    const whole = values[i] * 2 ** (LIST_BITS - bits);
    ids[2 * i] = Math.floor(whole / 2 ** 20);
    ids[2 * i + 1] = (whole % 2 ** 20) << 12;
  }
  return ids;
}
