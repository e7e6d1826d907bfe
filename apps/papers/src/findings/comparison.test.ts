import { expect, test } from 'vitest';
import { compareMean, isTooFar, normalDeviations } from './comparison.ts';

test('isTooFar goes by five standard deviations, of theory where there is one', () => {
  // Student's limits of the probability 5.7e-7, by integration: 7.37 at 20 trials, 5.08 at 400.
  expect(normalDeviations(7.37, 20)).toBeCloseTo(5, 2);
  expect(normalDeviations(-5.0826, 400)).toBeCloseTo(-5, 3);
  const rate = { mean: 1.6, deviation: 0.1, error: 0.1, most: 2, trials: 20 };
  expect(isTooFar(compareMean('by scatter', rate, 1))).toBe(false);
  expect(isTooFar(compareMean('by theory', rate, 1, 0.5))).toBe(true);
  expect(isTooFar(compareMean('by theory', rate, 1, 0.54))).toBe(false);
  expect(isTooFar(compareMean('no number', { ...rate, mean: Number.NaN }, 1, 0.5))).toBe(true);
});
