import { expect, test } from 'vitest';
import { bestLeafBits, expectedAccuracy, hashesFor } from './tree-plan.ts';

test('expectedAccuracy: a plain filter is the tree of one key, without inner nodes', () => {
  const shape = { size: 1, leafBits: 8, innerBits: 1, correction: 0 };
  expect(expectedAccuracy(shape)).toBe(1 - (1 - Math.exp(-6 / 8)) ** 6);
});

test('expectedAccuracy grows with the correction level and with bits', () => {
  let before = -1;
  for (let correction = 0; correction < 8; correction++) {
    const share = expectedAccuracy({ size: 1e4, leafBits: 4, innerBits: 4, correction });
    expect(share).toBeGreaterThan(before);
    before = share;
  }
  const more = expectedAccuracy({ size: 1e4, leafBits: 8, innerBits: 8, correction: 2 });
  expect(more).toBeGreaterThan(expectedAccuracy({ size: 1e4, leafBits: 4, innerBits: 4, correction: 2 }));
});

test('expectedAccuracy counts runs as a search over all outcomes does', () => {
  // Two inner nodes on the way and two hits in a row prune, so both must be hits.
  const rate = 1 - Math.exp(-1);
  const share = expectedAccuracy({ size: 2 ** (2 - 1 / 3), leafBits: 64, innerBits: 1, correction: 1 });
  // Arithmetic in doubles; the leaf filter of 64 bits per key adds 4e-14.
  expect(share).toBeCloseTo(1 - rate ** 2, 12);
});

test('bestLeafBits: low corrections need bits for the inner nodes, high ones for the leaves', () => {
  const best = [0, 1, 2, 3, 4, 5].map((correction) => bestLeafBits(1e4, 8, correction));
  expect(best).toEqual([2, 3.5, 4.5, 5, 5.5, 6]);
  expect(hashesFor(0.2)).toBe(1);
  expect(hashesFor(10)).toBe(7);
});
