/**
 * Probes of a bit-sliced table: many classic filters with the same rows and hashes, stored so that
 * one look answers for all of them. Twin: assembly/bits/sliced.ts.
 *
 * A row holds one bit position of every filter, side by side: bit (row, column) is bit
 * row · rowBits + column of the array. The k indices of a key are those of classic.ts. A lookup
 * reads k rows and ANDs them; what is left is one bit per filter, the same bit that `classicHas`
 * computes. 256 filters are 8 words per row, half a cache line, so k cache lines are read where a
 * loop over the filters reads up to 256 · k.
 *
 * `rowBits` is a power of two up to 32, so that a row never crosses a word, or a multiple of 32.
 * With one column the array is exactly that of the classic filter. Rounding up to whole words
 * instead would make a table of four columns eight times as large as its filters.
 *
 * Two rows follow the table. LIVE has a one for each column that may answer, and the AND begins
 * with it, so a masked column costs nothing. The last row is where the WebAssembly twin leaves a
 * result.
 *
 * There is no early exit when all columns have said "no". We tried one: with 256 columns the AND
 * becomes zero after about five of eight rows, and lookups of absent keys took the same time within
 * noise, because the reads of the other rows are already under way by then.
 */

import { onesOf } from './bit-operations.ts';
import { probeIndex } from './classic.ts';

export interface SlicedShape {
  readonly rows: number;
  readonly hashes: number;
  /** Bits from one row to the next: 1, 2, 4, 8, 16, or a multiple of 32. */
  readonly rowBits: number;
}

/** The bits of a row that has room for this many columns. */
export function rowBitsFor(columns: number): number {
  if (columns > 32) return Math.ceil(columns / 32) * 32;
  let bits = 1;
  while (bits < columns) bits *= 2;
  return bits;
}

/** The bits of a whole table, with the live row and the row of results. */
export function slicedBits({ rows, rowBits }: SlicedShape): number {
  return (rows + 2) * rowBits;
}

/** Sets the bits of a hash in one column. Returns how many of them were 0. */
export function slicedAdd(
  words: Uint32Array,
  a: number,
  b: number,
  { rows, hashes, rowBits }: SlicedShape,
  column: number,
): number {
  let changed = 0;
  for (let i = 0; i < hashes; i++) {
    const bit = probeIndex(a, b, i, rows) * rowBits + column;
    const at = Math.floor(bit / 32);
    const old = words[at];
    const mask = 1 << (bit & 31);
    if ((old & mask) === 0) {
      words[at] = old | mask;
      changed++;
    }
  }
  return changed;
}

/**
 * Writes one bit per column to `out`: 1 for live columns that may hold the hash. Returns the number
 * of ones. `out` must have room for a row; further words are left alone.
 */
export function slicedCandidates(
  words: Uint32Array,
  a: number,
  b: number,
  shape: SlicedShape,
  out: Uint32Array,
): number {
  return shape.rowBits < 32 ? narrow(words, a, b, shape, out) : wide(words, a, b, shape, out);
}

function narrow(
  words: Uint32Array,
  a: number,
  b: number,
  { rows, hashes, rowBits }: SlicedShape,
  out: Uint32Array,
): number {
  const live = rows * rowBits;
  let row = (words[Math.floor(live / 32)] >>> (live & 31)) & ((1 << rowBits) - 1);
  for (let i = 0; i < hashes; i++) {
    const bit = probeIndex(a, b, i, rows) * rowBits;
    row &= words[Math.floor(bit / 32)] >>> (bit & 31);
  }
  out[0] = row;
  return onesOf(row);
}

/** The words at which the rows of the current lookup begin. There are at most 255 hashes. */
const starts = /* @__PURE__ */ new Int32Array(255);

function wide(
  words: Uint32Array,
  a: number,
  b: number,
  { rows, hashes, rowBits }: SlicedShape,
  out: Uint32Array,
): number {
  const width = rowBits >>> 5;
  const live = (rows * width) | 0;
  for (let i = 0; i < hashes; i++) starts[i] = probeIndex(a, b, i, rows) * width;
  let found = 0;
  let w = 0;
  // Four words at a time stay in registers while the rows go by.
  for (; w + 4 <= width; w += 4) {
    let r0 = words[live + w];
    let r1 = words[live + w + 1];
    let r2 = words[live + w + 2];
    let r3 = words[live + w + 3];
    for (let i = 0; i < hashes; i++) {
      const at = starts[i] + w;
      r0 &= words[at];
      r1 &= words[at + 1];
      r2 &= words[at + 2];
      r3 &= words[at + 3];
    }
    out[w] = r0;
    out[w + 1] = r1;
    out[w + 2] = r2;
    out[w + 3] = r3;
    if ((r0 | r1 | r2 | r3) !== 0) found += onesOf(r0) + onesOf(r1) + onesOf(r2) + onesOf(r3);
  }
  for (; w < width; w++) {
    let row = words[live + w];
    for (let i = 0; i < hashes; i++) row &= words[starts[i] + w];
    out[w] = row;
    found += onesOf(row);
  }
  return found;
}
