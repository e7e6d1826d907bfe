/**
 * Whole columns of a bit-sliced table, and changes of its shape. They are linear passes over the
 * table, which wait for memory more than they compute, so they exist in JavaScript only (like
 * bit-operations.ts). sliced.ts explains the layout.
 *
 * One column lies one bit in every row, so a pass over a column of 256 touches as many cache lines
 * as a pass over all of them. Passes over a column therefore take a range of rows, and a caller
 * that must not be held up does a few thousand rows at a time. `writeColumns` writes all columns in
 * one pass.
 */

import type { SlicedShape } from './sliced.ts';

/**
 * Writes rows `from` to `to` of a column: the bits of a classic filter, or zeros for null. Returns
 * by how much the number of ones in the column rose.
 */
export function writeColumn(
  words: Uint32Array,
  { rowBits }: SlicedShape,
  column: number,
  bits: Uint32Array | null,
  from: number,
  to: number,
): number {
  const first = from * rowBits + column;
  let at = Math.floor(first / 32);
  let shift = first & 31;
  // Rows of whole words advance by words, narrow ones by bits.
  const step = rowBits >>> 5;
  const bitStep = rowBits & 31;
  let rise = 0;
  for (let row = from; row < to; row++) {
    const bit = bits === null ? 0 : (bits[row >>> 5] >>> (row & 31)) & 1;
    const word = words[at];
    const change = bit - ((word >>> shift) & 1);
    if (change !== 0) {
      words[at] = word ^ (1 << shift);
      rise += change;
    }
    at += step;
    shift += bitStep;
    if (shift > 31) {
      shift -= 32;
      at++;
    }
  }
  return rise;
}

/** Writes the bits of a column to `target`, in the order of a classic filter. */
export function readColumn(
  words: Uint32Array,
  { rows, rowBits }: SlicedShape,
  column: number,
  target: Uint32Array,
): void {
  for (let start = 0; start < rows; start += 32) {
    const end = Math.min(32, rows - start);
    let gathered = 0;
    for (let i = 0; i < end; i++) {
      const bit = (start + i) * rowBits + column;
      gathered |= ((words[Math.floor(bit / 32)] >>> (bit & 31)) & 1) << i;
    }
    target[Math.floor(start / 32)] = gathered;
  }
}

/**
 * Writes all columns of a table with rows of whole words, each from an array of bits; columns
 * without an array get zeros. 32 words of bits are turned into 32 words of rows by swapping ever
 * smaller blocks (Warren, Hacker's Delight, 7-3), and 32 rows are finished before the next ones, so
 * every cache line is written once.
 */
export function writeColumns(
  words: Uint32Array,
  { rows, rowBits }: SlicedShape,
  arrays: readonly Uint32Array[],
): void {
  const width = rowBits >>> 5;
  const block = new Uint32Array(32);
  for (let start = 0; start < rows; start += 32) {
    const end = Math.min(32, rows - start);
    for (let group = 0; group < width; group++) {
      const present = Math.min(32, arrays.length - 32 * group);
      for (let c = 0; c < present; c++) block[c] = arrays[32 * group + c][start >>> 5];
      block.fill(0, Math.max(0, present));
      transpose32(block);
      for (let i = 0; i < end; i++) words[(start + i) * width + group] = block[i];
    }
  }
}

/** Mirrors a square of 32 by 32 bits: bit j of word i becomes bit i of word j. */
function transpose32(block: Uint32Array): void {
  let mask = 0x0000ffff;
  for (let size = 16; size !== 0; size >>>= 1, mask ^= mask << size) {
    for (let i = 0; i < 32; i = (i + size + 1) & ~size) {
      const swap = ((block[i] >>> size) ^ block[i + size]) & mask;
      block[i] ^= swap << size;
      block[i + size] ^= swap;
    }
  }
}

/**
 * Writes a table with half the rows to `target`: row j is row 2j OR row 2j+1, for the reason that
 * classic.ts gives. The live row moves with it.
 */
export function foldRows(words: Uint32Array, { rows, rowBits }: SlicedShape, target: Uint32Array): void {
  if (rowBits < 32) {
    for (let row = 0; row < rows / 2; row++) {
      const pair = narrowRow(words, rowBits, 2 * row) | narrowRow(words, rowBits, 2 * row + 1);
      putNarrowRow(target, rowBits, row, pair);
    }
    putNarrowRow(target, rowBits, rows / 2, narrowRow(words, rowBits, rows));
    return;
  }
  const width = rowBits >>> 5;
  const length = (rows / 2) * width;
  for (let at = 0, even = 0; at < length; even += width) {
    for (const end = at + width; at < end; at++, even++) target[at] = words[even] | words[even + width];
  }
  for (let w = 0; w < width; w++) target[length + w] = words[2 * length + w];
}

/** Copies a table into one with wider rows, whose new columns are empty and not live. */
export function widenRows(
  words: Uint32Array,
  { rows, rowBits }: SlicedShape,
  target: Uint32Array,
  targetBits: number,
): void {
  const from = rowBits >>> 5;
  const to = targetBits >>> 5;
  for (let row = 0; row <= rows; row++) {
    if (targetBits < 32) putNarrowRow(target, targetBits, row, narrowRow(words, rowBits, row));
    else if (rowBits < 32) target[row * to] = narrowRow(words, rowBits, row);
    else for (let w = 0; w < from; w++) target[row * to + w] = words[row * from + w];
  }
}

function narrowRow(words: Uint32Array, rowBits: number, row: number): number {
  const bit = row * rowBits;
  return (words[Math.floor(bit / 32)] >>> (bit & 31)) & ((1 << rowBits) - 1);
}

/** The row must be zeros so far. */
function putNarrowRow(words: Uint32Array, rowBits: number, row: number, value: number): void {
  const bit = row * rowBits;
  words[Math.floor(bit / 32)] |= value << (bit & 31);
}
