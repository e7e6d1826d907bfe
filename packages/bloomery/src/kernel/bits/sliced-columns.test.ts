import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { countOnes, foldNeighbours } from './bit-operations.ts';
import { rowBitsFor, slicedBits } from './sliced.ts';
import { foldRows, readColumn, widenRows, writeColumn, writeColumns } from './sliced-columns.ts';

const COLUMNS = [1, 3, 8, 20, 32, 33, 70, 256];
const ROWS = 202;

describe.each(COLUMNS)('in a table of %i columns', (columns) => {
  test('a column is read as it was written, and leaves its neighbours alone', () => {
    const { shape, words, arrays } = filled(columns);
    for (const [column, bits] of arrays.entries()) expect(columnOf(words, shape, column)).toEqual(bits);
    const target = columns >> 1;
    const [before, next] = [arrays[target], randomBits(new Random(99), 3)];
    // In three pieces, which do not begin at words.
    const rise = [0, 17, 65].map((from, i) =>
      writeColumn(words, shape, target, next, from, [17, 65, ROWS][i]),
    );
    expect(rise[0] + rise[1] + rise[2]).toBe(countOnes(next) - countOnes(before));
    arrays[target] = next;
    for (const [column, bits] of arrays.entries()) expect(columnOf(words, shape, column)).toEqual(bits);
    expect(writeColumn(words, shape, target, null, 0, ROWS)).toBe(-countOnes(next));
    expect(countOnes(columnOf(words, shape, target))).toBe(0);
  });

  test('folding rows gives each column as the classic filter of half the size', () => {
    const { shape, words, arrays } = filled(columns);
    const half = { ...shape, rows: ROWS / 2 };
    const target = new Uint32Array(Math.ceil(slicedBits(half) / 32));
    foldRows(words, shape, target);
    for (const [column, bits] of arrays.entries()) {
      const expected = new Uint32Array(Math.ceil(ROWS / 64));
      foldNeighbours(bits, ROWS, expected);
      expect(columnOf(target, half, column)).toEqual(expected);
      expect(liveBit(target, half, column)).toBe(column % 3 === 0 ? 0 : 1);
    }
  });

  test('widening rows keeps every column and adds empty ones that are not live', () => {
    const { shape, words, arrays } = filled(columns);
    for (const more of [columns + 1, 2 * columns, columns + 33]) {
      const wide = { ...shape, rowBits: rowBitsFor(more) };
      if (wide.rowBits === shape.rowBits) continue;
      const target = new Uint32Array(Math.ceil(slicedBits(wide) / 32));
      widenRows(words, shape, target, wide.rowBits);
      for (const [column, bits] of arrays.entries()) {
        expect(columnOf(target, wide, column)).toEqual(bits);
        expect(liveBit(target, wide, column)).toBe(column % 3 === 0 ? 0 : 1);
      }
      expect(countOnes(columnOf(target, wide, more - 1))).toBe(0);
      expect(liveBit(target, wide, more - 1)).toBe(0);
    }
  });
});

test('all columns at once are the same as one after the other', () => {
  for (const columns of [32, 40, 256]) {
    const { shape, words, arrays } = filled(columns);
    const together = new Uint32Array(words.length);
    writeColumns(together, shape, arrays);
    const end = ROWS * (shape.rowBits / 32);
    expect(together.slice(0, end)).toEqual(words.slice(0, end));
  }
});

function randomBits(random: Random, sparse: number): Uint32Array {
  const bits = new Uint32Array(Math.ceil(ROWS / 32));
  for (let i = 0; i < ROWS; i++) if (random.below(sparse) === 0) bits[i >>> 5] |= 1 << (i & 31);
  return bits;
}

/** A table of random columns, every third of them not live. */
function filled(columns: number) {
  const random = new Random(columns);
  const shape = { rows: ROWS, hashes: 3, rowBits: rowBitsFor(columns) };
  const words = new Uint32Array(Math.ceil(slicedBits(shape) / 32));
  const arrays = Array.from({ length: columns }, () => randomBits(random, 2));
  for (const [column, bits] of arrays.entries()) {
    expect(writeColumn(words, shape, column, bits, 0, ROWS)).toBe(countOnes(bits));
    const live = ROWS * shape.rowBits + column;
    if (column % 3 !== 0) words[live >>> 5] |= 1 << (live & 31);
  }
  return { shape, words, arrays };
}

function columnOf(words: Uint32Array, shape: { rows: number; hashes: number; rowBits: number }, c: number) {
  const bits = new Uint32Array(Math.ceil(shape.rows / 32));
  readColumn(words, shape, c, bits);
  return bits;
}

function liveBit(words: Uint32Array, { rows, rowBits }: { rows: number; rowBits: number }, column: number) {
  const bit = rows * rowBits + column;
  return (words[bit >>> 5] >>> (bit & 31)) & 1;
}
