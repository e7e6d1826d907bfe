import { describe, expect, test } from 'vitest';
import { rateBlocked, rateSplitBlock } from './blocked-rate.ts';
import { type BlockedSizeRequest, MAX_BLOCKED_HASHES, sizeBlocked } from './size-blocked.ts';

describe('bits per key', () => {
  // Our own figures, from the exact in-block rate. With the textbook rate inside the blocks they
  // would be 9.90, 15.49 and 21.92 for 'blocked'; the split-block figures agree with those known
  // for Parquet's filter.
  test.each([
    ['blocked', 0.01, 512, '9.92', 6],
    ['blocked', 0.001, 512, '15.55', 9],
    ['blocked', 0.0001, 512, '22.03', 12],
    ['split-block', 0.01, 256, '10.53', 8],
    ['split-block', 0.001, 256, '16.89', 8],
    ['split-block', 0.0001, 256, '26.34', 8],
  ] as const)('%s at %d', (layout, falsePositiveRate, blockBits, bitsPerKey, k) => {
    const capacity = 1_000_000;
    const { blocks, hashes } = sizeBlocked({ capacity, falsePositiveRate, layout });
    expect(((blocks * blockBits) / capacity).toFixed(2)).toBe(bitsPerKey);
    expect(hashes).toBe(k);
  });
});

describe('smallest', () => {
  test('one block fewer breaks the promise with every k', () => {
    for (const capacity of [1, 20, 300, 4000]) {
      for (const falsePositiveRate of [0.3, 0.01, 1e-4]) {
        const { blocks, hashes, falsePositiveRate: rate } = sizeBlocked({ capacity, falsePositiveRate });
        expect(rate).toBeLessThanOrEqual(falsePositiveRate);
        for (let k = 1; k <= MAX_BLOCKED_HASHES; k++) {
          if (blocks > 1) {
            expect(rateBlocked({ n: capacity, blocks: blocks - 1, k })).toBeGreaterThan(falsePositiveRate);
          }
          if (k < hashes) expect(rateBlocked({ n: capacity, blocks, k })).toBeGreaterThan(falsePositiveRate);
        }
        const split = sizeBlocked({ capacity, falsePositiveRate, layout: 'split-block' });
        expect(rateSplitBlock({ n: capacity, blocks: split.blocks })).toBe(split.falsePositiveRate);
        if (split.blocks > 1) {
          expect(rateSplitBlock({ n: capacity, blocks: split.blocks - 1 })).toBeGreaterThan(
            falsePositiveRate,
          );
        }
      }
    }
  });

  test('fixed and limited hashes', () => {
    const request = { capacity: 10_000, falsePositiveRate: 0.001 };
    expect(sizeBlocked({ ...request, hashes: 4 }).hashes).toBe(4);
    expect(sizeBlocked({ ...request, hashes: 4 })).toEqual(sizeBlocked({ ...request, maxHashes: 4 }));
  });
});

test.each([
  [{ capacity: 0, falsePositiveRate: 0.1 }, /^Cannot use capacity: /],
  [{ capacity: 10, falsePositiveRate: 0 }, /^Cannot use falsePositiveRate: /],
  [
    { capacity: 10, falsePositiveRate: 0.1, hashes: 25 },
    'Cannot use hashes: expected an integer from 1 to 24, got 25',
  ],
  [{ capacity: 10, falsePositiveRate: 0.1, hashes: 5, maxHashes: 4 }, /at most maxHashes/],
  [
    { capacity: 10, falsePositiveRate: 0.1, hashes: 7, layout: 'split-block' },
    'Cannot use hashes: expected 8 in the split-block layout, got 7',
  ],
  [
    { capacity: 10, falsePositiveRate: 0.1, maxHashes: 7, layout: 'split-block' },
    /^Cannot use maxHashes: expected at least 8/,
  ],
  [{ capacity: 10, falsePositiveRate: 0.1, layout: 'classic' }, /^Cannot use layout: expected/],
  [{ capacity: 1e9, falsePositiveRate: 1e-9 }, /: expected at most 68719476736 bits, got more$/],
])('refused: %j', (request, message) => {
  expect(() => sizeBlocked(request as BlockedSizeRequest)).toThrow(message);
});
