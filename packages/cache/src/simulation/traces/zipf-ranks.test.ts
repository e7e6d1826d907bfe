import { randomStream } from '@bloomery/sim';
import { expectBinomial, expectNormal } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ZipfRanks } from './zipf-ranks.ts';

/** Probabilities of the ranks, by summing the weights. */
function probabilities(exponent: number, count: number): number[] {
  const weights = Array.from({ length: count }, (_, i) => (i + 1) ** -exponent);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

const DRAWS = 300_000;

test.each([
  [0.8, 1000],
  [1, 1000],
  [1.000000001, 1000],
  [0, 100],
  [1.6, 5000],
  [0.6, 2],
])('ZipfRanks with exponent %d over %i ranks follows the law', (exponent, count) => {
  const ranks = new ZipfRanks(exponent, count);
  const random = randomStream(7, `exponent ${exponent}`);
  const expected = probabilities(exponent, count);
  const seen = new Array<number>(count).fill(0);
  for (let i = 0; i < DRAWS; i++) seen[ranks.draw(random) - 1]++;
  for (let rank = 0; rank < Math.min(20, count); rank++)
    expectBinomial(seen[rank], DRAWS, expected[rank], `rank ${rank + 1}`);
  // Chi-square over cells of at least 100 expected draws, from the top of the ranks to their end.
  let [chi2, cells, observed, mean] = [0, 0, 0, 0];
  for (let rank = 0; rank < count; rank++) {
    observed += seen[rank];
    mean += expected[rank] * DRAWS;
    if (mean < 100) continue;
    chi2 += (observed - mean) ** 2 / mean;
    cells++;
    [observed, mean] = [0, 0];
  }
  if (cells > 1) expectNormal(chi2, cells - 1, Math.sqrt(2 * (cells - 1)), `chi-square of ${cells} cells`);
});

test('ZipfRanks draws from a billion ranks without memory, and reaches both ends', () => {
  const ranks = new ZipfRanks(0.8, 1e9);
  expect(ranks.draw(() => 0)).toBe(1e9);
  expect(ranks.draw(() => 1 - 2 ** -53)).toBe(1);
  expect(new ZipfRanks(0.8, 1).draw(() => 0.5)).toBe(1);
});

test('ZipfRanks refuses what is no law', () => {
  expect(() => new ZipfRanks(-1, 10)).toThrow('expected an exponent of at least 0, got -1');
  expect(() => new ZipfRanks(0.8, 0)).toThrow('expected at least 1 rank, got 0');
  expect(() => new ZipfRanks(Number.NaN, 10)).toThrow('got NaN');
});
