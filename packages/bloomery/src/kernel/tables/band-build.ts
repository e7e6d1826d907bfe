/**
 * Solves a banded system (band.ts): Gaussian elimination, key by key.
 *
 * A row is shifted until its first bit is 1. If its column has no row yet, it becomes that row;
 * otherwise the two are XORed, and the first bit is gone. A row that becomes empty with a value
 * other than 0 contradicts the others, and the next attempt begins. In the end the columns are
 * computed from right to left, and columns without a row are 0. They are the same for every order
 * of the keys, because the columns that have a row depend only on the space that the rows span.
 *
 * There is no twin in WebAssembly: sets are small, and both kernels give the same bytes by
 * themselves.
 */

import { BAND_KEYS, locateRow, row } from './band.ts';
import { FuseLayout, MOST_ATTEMPTS } from './fuse.ts';
import { distinct, type FuseTable } from './fuse-build.ts';

/**
 * Builds the band of a set of hashes, low and high halves in turn, or returns null if they are too
 * many, none, or have no solution. `columnsOf` gives the columns for n different hashes in attempt
 * 0, 1, …
 */
export function buildBand(
  hashes: Int32Array,
  width: number,
  columnsOf: (n: number, attempt: number) => number,
): FuseTable | null {
  // Most sets that are too large are found without sorting: their hashes have too many different
  // endings.
  const endings = new Uint8Array(hashes.length > 2 * BAND_KEYS ? 1 << 17 : 0);
  let different = 0;
  for (let i = 0; i < hashes.length && endings.length > 0; i += 2) {
    const ending = hashes[i] & 0x1ffff;
    if (endings[ending] === 0 && ++different > BAND_KEYS) return null;
    endings[ending] = 1;
  }
  const keys = distinct(hashes);
  const size = keys.length / 2;
  for (let attempt = 0; size > 0 && size <= BAND_KEYS && attempt < MOST_ATTEMPTS; attempt++) {
    const shape = { segments: 0, segmentLength: columnsOf(size, attempt) };
    const layout = new FuseLayout(shape, attempt, { stride: width, width });
    const words = solveBand(keys, layout);
    if (words !== null) return { layout, words, size };
  }
  return null;
}

/** The words of the table, or null if this attempt has no solution. */
export function solveBand(keys: Int32Array, layout: FuseLayout): Uint32Array | null {
  const { slots, width } = layout;
  // The row that begins at each column: its bits, of which the first is 1, and its value.
  const lows = new Int32Array(slots);
  const highs = new Int32Array(slots);
  const values = new Int32Array(slots);
  for (let i = 0; i < keys.length; i += 2) {
    locateRow(layout, keys[i], keys[i + 1]);
    let at = row[0];
    let low = row[1];
    let high = row[2];
    let value = row[3];
    while ((low | high) !== 0) {
      if (low === 0) {
        low = high;
        high = 0;
        at += 32;
      }
      const skip = 31 - Math.clz32(low & -low);
      low = (low >>> skip) | ((high << (31 - skip)) << 1);
      high >>>= skip;
      at += skip;
      if (lows[at] === 0) {
        lows[at] = low;
        highs[at] = high;
        values[at] = value;
        value = 0;
        break;
      }
      low ^= lows[at];
      high ^= highs[at];
      value ^= values[at];
    }
    if (value !== 0) return null;
  }
  const words = new Uint32Array(layout.wordCount);
  for (let at = slots - 1; at >= 0; at--) {
    if (lows[at] === 0) continue;
    let value = values[at];
    for (let bits = lows[at] & -2, i = at; bits !== 0; bits &= bits - 1) {
      value ^= values[i + 31 - Math.clz32(bits & -bits)];
    }
    for (let bits = highs[at]; bits !== 0; bits &= bits - 1) {
      value ^= values[at + 63 - Math.clz32(bits & -bits)];
    }
    values[at] = value;
    for (let j = 0, bit = at; j < width; j++, bit += slots) {
      words[bit >>> 5] |= ((value >>> j) & 1) << (bit & 31);
    }
  }
  return words;
}
