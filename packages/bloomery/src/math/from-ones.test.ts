import { expect, test } from 'vitest';
import { decayOf, rateFromOnes, sizeFromOnes } from './from-ones.ts';

test('sizeFromOnes is the number of keys whose mean number of ones is this one', () => {
  for (const [bits, hashes] of [
    [64, 3],
    [1000, 7],
    [2 ** 33, 12],
  ]) {
    const decay = decayOf(hashes, 1 / bits);
    for (const n of [1, 5, Math.floor(bits / hashes / 2)]) {
      const ones = -bits * Math.expm1(hashes * n * Math.log1p(-1 / bits));
      // Less than half of the bits are ones, so no step magnifies the rounding of the one before.
      expect(Math.abs(sizeFromOnes(bits, ones, decay) / n - 1)).toBeLessThan(16 * 2 ** -53);
    }
  }
});

test('sizeFromOnes is 0 without ones and Infinity without zeros, also in an array of one bit', () => {
  for (const bits of [1, 2, 4096]) {
    const decay = decayOf(3, 1 / bits);
    expect(sizeFromOnes(bits, 0, decay)).toBe(0);
    expect(sizeFromOnes(bits, bits, decay)).toBe(Number.POSITIVE_INFINITY);
    // Foreign files may have ones beyond the bits that are probed.
    expect(sizeFromOnes(bits, bits + 1, decay)).toBe(Number.POSITIVE_INFINITY);
  }
});

test('rateFromOnes is the share of all choices of k bits that are all ones', () => {
  const [bits, ones, k] = [8, 3, 2];
  let hits = 0;
  for (let a = 0; a < bits; a++) for (let b = 0; b < bits; b++) if (a < ones && b < ones) hits++;
  expect(rateFromOnes(bits, ones, k)).toBe(hits / bits ** k);
  expect(rateFromOnes(bits, 0, k)).toBe(0);
  expect(rateFromOnes(bits, bits, k)).toBe(1);
});
