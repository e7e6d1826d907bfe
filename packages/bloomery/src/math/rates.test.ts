import { describe, expect, test } from 'vitest';
import {
  bitsAsymptotic,
  optimalHashes,
  optimalHashesInteger,
  rateAsymptotic,
  rateExact,
  ratePartitioned,
  zeroProbability,
  zeroProbabilityExact,
  zeroProbabilityPartitioned,
} from './rates.ts';

const relativeError = (got: number, want: number) => Math.abs(got / want - 1);

describe('f as printed in the papers', () => {
  // Mitzenmacher, Compressed Bloom Filters, tables I to VII, and survey table 1 (the rows of table
  // II).
  test.each([
    ['I', 8, 6, '0.0216'],
    ['I', 14, 2, '0.0177'],
    ['I', 92, 1, '0.0108'],
    ['II', 16, 11, '0.000459'],
    ['II', 28, 4, '0.000314'],
    ['II', 48, 3, '0.000222'],
    ['III', 4, 3, '0.147'],
    ['III', 7, 1, '0.133'],
    ['IV', 46, 1, '0.0215'],
    ['V', 37.5, 3, '0.000454'],
    ['V', 93, 2, '0.000453'],
    ['VI', 8, 5, '0.0217'],
    ['VI', 12, 3, '0.0108'],
    ['VI', 32, 2, '0.00367'],
    ['VI', 13, 2, '0.0203'],
    ['VII', 16, 3, '0.00500'],
    ['VII', 48, 2, '0.00167'],
  ])('table %s: m/n = %d, k = %d gives %s', (_table, bitsPerKey, k, printed) => {
    const n = 10_000;
    const f = rateAsymptotic(bitsPerKey * n, k, n);
    expect(f.toPrecision(3)).toBe(Number(printed).toPrecision(3));
  });

  test('table IV, m/n = 12.6: the paper prints 0.0216, the formula gives 0.02154', () => {
    expect(rateAsymptotic(126_000, 2, 10_000).toPrecision(4)).toBe('0.02154');
  });

  test('0.6185 a bit per key at the optimum (survey 2.1)', () => {
    // e^(-(ln 2)²): with k = ln 2 · m/n and one bit per key.
    expect(rateAsymptotic(1, Math.LN2, 1).toFixed(4)).toBe('0.6185');
    for (const bitsPerKey of [4, 10, 32]) {
      const f = rateAsymptotic(bitsPerKey, optimalHashes(bitsPerKey, 1), 1);
      expect(relativeError(f, Math.exp(-(Math.LN2 ** 2) * bitsPerKey))).toBeLessThan(1e-13);
    }
  });

  test('just over 0.02 at m = 8n (survey 2.3)', () => {
    expect(rateAsymptotic(8000, 6, 1000).toFixed(2)).toBe('0.02');
  });

  test('the tutorial, figure 1: 22 hash functions at 32 bits per key', () => {
    expect(optimalHashesInteger(32_000, 1000)).toBe(22);
    const over = (k: number) => rateAsymptotic(32_000, k, 1000);
    expect(over(22)).toBeLessThan(over(21));
    expect(over(22)).toBeLessThan(over(23));
  });

  test('best integer k as in the tables: 3, 6, 11 at 4, 8, 16 bits per key', () => {
    expect([4, 8, 16].map((c) => optimalHashesInteger(c * 10_000, 10_000))).toEqual([3, 6, 11]);
  });
});

describe('the exact forms', () => {
  test('against rational numbers', () => {
    // (1 - 1/4)^6 = 729/4096; f' = (3367/4096)^3; partitioned: (1 - 3/12)^2 = 9/16, f = (7/16)^3.
    expect(relativeError(zeroProbabilityExact(4, 3, 2), 729 / 4096)).toBeLessThan(1e-14);
    expect(relativeError(rateExact(4, 3, 2), (3367 / 4096) ** 3)).toBeLessThan(1e-14);
    expect(relativeError(zeroProbabilityPartitioned(12, 3, 2), 9 / 16)).toBeLessThan(1e-14);
    expect(relativeError(ratePartitioned(12, 3, 2), (7 / 16) ** 3)).toBeLessThan(1e-14);
  });

  test('the partitioned rate is the mean over all hash outcomes, not an approximation', () => {
    // m = 6, k = 2, n = 2: every key picks one bit of 3 in each of two slices, so there are 3^4
    // outcomes.
    let sum = 0;
    for (let outcome = 0; outcome < 81; outcome++) {
      const ball = (i: number) => Math.floor(outcome / 3 ** i) % 3;
      const slice = (a: number, b: number) => new Set([ball(a), ball(b)]).size / 3;
      sum += slice(0, 1) * slice(2, 3);
    }
    expect(relativeError(ratePartitioned(6, 2, 2), sum / 81)).toBeLessThan(1e-14);
  });

  test('order: f <= f\u2032 <= partitioned, equal f\u2032 at k = 1 (survey 2.1)', () => {
    for (const m of [24, 240, 24_000, 2 ** 20 * 3]) {
      for (const k of [1, 2, 3, 4, 6, 8]) {
        for (const n of [1, Math.ceil(m / 10), m]) {
          const slack = 1 + 1e-13;
          expect(rateAsymptotic(m, k, n)).toBeLessThanOrEqual(rateExact(m, k, n) * slack);
          expect(rateExact(m, k, n)).toBeLessThanOrEqual(ratePartitioned(m, k, n) * slack);
          expect(zeroProbabilityExact(m, k, n)).toBeLessThanOrEqual(zeroProbability(m, k, n) * slack);
        }
      }
    }
    expect(ratePartitioned(1000, 1, 100)).toBe(rateExact(1000, 1, 100));
  });

  test('large and extreme arguments keep their digits', () => {
    // At m = 2^37 and kn = m ln 2: p = 1/2 and p' differs from p by a relative ln2/(2m), far below
    // the tolerance.
    const m = 2 ** 37;
    const n = (m * Math.LN2) / 8;
    expect(relativeError(zeroProbabilityExact(m, 8, n), 0.5)).toBeLessThan(1e-10);
    expect(relativeError(rateExact(m, 8, n), 2 ** -8)).toBeLessThan(1e-10);
    // One key, k = 3 in 2^37 bits: f' = (3/m)^3 up to a relative 3/m.
    expect(relativeError(rateExact(m, 3, 1), (3 / m) ** 3)).toBeLessThan(1e-10);
    // A full filter: 1 - f = k e^-λ.
    expect(relativeError(1 - rateAsymptotic(1000, 4, 5000), 4 * Math.exp(-20))).toBeLessThan(1e-6);
  });

  test('edges: no keys, one bit', () => {
    expect(rateExact(100, 3, 0)).toBe(0);
    expect(rateAsymptotic(100, 3, 0)).toBe(0);
    expect(ratePartitioned(99, 3, 0)).toBe(0);
    expect(zeroProbabilityExact(1, 3, 0)).toBe(1);
    expect(zeroProbabilityExact(1, 3, 1)).toBe(0);
    expect(rateExact(1, 3, 1)).toBe(1);
    expect(ratePartitioned(3, 3, 5)).toBe(1);
    expect(optimalHashesInteger(1, 100)).toBe(1);
  });

  test('monotone: more bits are better, more keys are worse', () => {
    for (const rate of [rateExact, rateAsymptotic, ratePartitioned]) {
      for (let m = 50; m < 5000; m += 50) {
        expect(rate(m + 50, 5, 100)).toBeLessThan(rate(m, 5, 100));
        expect(rate(5000, 5, m + 50)).toBeGreaterThan(rate(5000, 5, m));
      }
    }
  });
});

test('wrong arguments say which, what was expected and what came', () => {
  expect(() => rateExact(0, 1, 1)).toThrow(
    new RangeError('Cannot use m: expected a number of at least 1, got 0'),
  );
  expect(() => rateExact(10, 0, 1)).toThrow(RangeError);
  expect(() => rateAsymptotic(10, 1, -1)).toThrow(
    new RangeError('Cannot use n: expected a number of at least 0, got -1'),
  );
  expect(() => rateAsymptotic(10, 1, Number.NaN)).toThrow(
    new RangeError('Cannot use n: expected a number of at least 0, got NaN'),
  );
  expect(() => ratePartitioned(2, 3, 1)).toThrow(
    new RangeError('Cannot use m: expected a number of at least 3, got 2'),
  );
  expect(() => rateExact('8' as unknown as number, 1, 1)).toThrow(
    new TypeError('Cannot use m: expected a number of at least 1, got "8"'),
  );
  expect(() => optimalHashes(10, 0)).toThrow(RangeError);
});

test('bitsAsymptotic is the inverse of rateAsymptotic', () => {
  for (const [k, n, rate] of [
    [1, 1000, 0.01],
    [7, 1000, 0.01],
    [24, 10_000_000, 1e-9],
    [3, 50, 0.5],
  ]) {
    // The rate goes with the k-th power of the bits, so it magnifies their rounding by up to k.
    expect(relativeError(rateAsymptotic(bitsAsymptotic(k, n, rate), k, n), rate)).toBeLessThan(1e-13);
  }
});
