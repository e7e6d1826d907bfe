import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { eliminate } from './elimination.ts';

/** Rank over GF(2), by big integers as rows. */
function rankOf(rows: readonly (readonly number[])[]): number {
  const pivots: bigint[] = [];
  for (const members of rows) {
    let row = 0n;
    for (const block of members) row ^= 1n << BigInt(block);
    for (const pivot of pivots) {
      const reduced = row ^ pivot;
      if (reduced < row) row = reduced;
    }
    if (row > 0n) pivots.push(row);
  }
  return pivots.length;
}

/** Values of the blocks after the sums that a solution asks for, on numbers in place of blocks. */
function addUp(blocks: number, rows: readonly (readonly number[])[], values: readonly number[]) {
  const solution = eliminate(blocks, rows, blocks);
  if ('lacking' in solution) return solution.lacking;
  const { peeled, rowOf, inactive, denseRows, checkRows, denseSums, inactiveIn, width, status } = solution;
  const sums = rows.map((members) => members.reduce((sum, block) => sum ^ values[block], 0));
  const addPeeled = (row: number, except: number) => {
    for (const block of rows[row])
      if (block !== except && status[block] === 1) sums[row] ^= sums[rowOf[block]];
  };
  for (const block of peeled) addPeeled(rowOf[block], block);
  const dense = [...denseRows, ...checkRows];
  for (const row of dense) addPeeled(row, -1);
  for (let i = 0; i < denseSums.length; i += 2) sums[dense[denseSums[i]]] ^= sums[dense[denseSums[i + 1]]];
  for (const block of peeled) {
    for (const [place, other] of inactive.entries())
      if (inactiveIn[block * width + (place >>> 5)] & (1 << (place & 31)))
        sums[rowOf[block]] ^= sums[rowOf[other]];
  }
  for (const row of checkRows) expect(sums[row]).toBe(0);
  return Array.from(rowOf, (row) => sums[row]);
}

test('eliminate solves exactly the systems of full rank, and says how much is lacking', () => {
  const random = new Random(5);
  let solved = 0;
  const rounds = withEffort(3000, 500);
  for (let round = 0; round < rounds; round++) {
    const blocks = 1 + random.below(round % 10 === 0 ? 70 : 14);
    const count = blocks + random.below(5) - 1;
    const degree = 1 + random.below(4);
    const rows = Array.from({ length: count }, () => [
      ...new Set(Array.from({ length: degree }, () => random.below(blocks))),
    ]);
    const values = Array.from({ length: blocks }, () => random.bits() | 0);
    const rank = rankOf(rows);
    const result = addUp(blocks, rows, values);
    if (typeof result === 'number') {
      expect(rank).toBeLessThan(blocks);
      expect(result).toBe(count < blocks ? blocks - count : blocks - rank);
    } else {
      expect(result).toEqual(values);
      expect(rank).toBe(blocks);
      solved++;
    }
  }
  expect(solved).toBeGreaterThan(rounds / 20);
});

test('eliminate asks for more symbols instead of an elimination above its limit', () => {
  const random = new Random(6);
  const rows = Array.from({ length: 110 }, () =>
    Array.from({ length: 100 }, (_, block) => block).filter(() => random.below(2) === 0),
  );
  expect(eliminate(100, rows, 50)).toEqual({ lacking: 1 });
  const solution = eliminate(100, rows, 100);
  expect('inactive' in solution && solution.inactive.length).toBeGreaterThan(50);
});
