import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { transposeBits } from './transpose-bits.ts';

test('transposeBits agrees with a bit by bit transposition, for every number of columns', () => {
  const random = new Random(3);
  for (let count = 1; count <= 20; count++) {
    const columns = Array.from({ length: count }, () => random.bytes(72));
    const width = Math.ceil(count / 8);
    const rows = new Uint8Array(72 * 8 * (width + 1));
    transposeBits(columns, rows, width, (row) => row * (width + 1));
    const naive = new Uint8Array(rows.length);
    columns.forEach((column, block) => {
      for (let row = 0; row < 72 * 8; row++) {
        const bit = (column[row >>> 3] >>> (row & 7)) & 1;
        naive[row * (width + 1) + (block >>> 3)] |= bit << (block & 7);
      }
    });
    expect(Buffer.compare(rows, naive)).toBe(0);
  }
});
