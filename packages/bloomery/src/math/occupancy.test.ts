import { describe, expect, test } from 'vitest';
import {
  occupancyDistribution,
  occupancyMean,
  occupancyVariance,
  relativeZeroVariance,
  zeroCovariance,
} from './occupancy.ts';

const relativeError = (got: number, want: number) => Math.abs(got / want - 1);

/** a/b as a double, correctly rounded to some 18 digits. */
function ratio(a: bigint, b: bigint): number {
  return Number((a * 10n ** 40n) / b) / 1e40;
}

/** The textbook variance in exact rational arithmetic. */
function exactVariance(m: number, t: number): number {
  const [M, T] = [BigInt(m), BigInt(t)];
  const one = (M - 1n) ** T;
  const two = (M - 2n) ** T;
  return ratio(M * (M - 1n) * two * M ** T + M * one * M ** T - M * M * one * one, M ** (2n * T));
}

describe('distribution', () => {
  test('counts all outcomes of small cases', () => {
    for (const [m, t] of [
      [2, 2],
      [3, 4],
      [4, 5],
      [5, 3],
      [1, 3],
    ] as const) {
      const counts = new Array(Math.min(m, t) + 1).fill(0);
      for (let outcome = 0; outcome < m ** t; outcome++) {
        counts[new Set(Array.from({ length: t }, (_, i) => Math.floor(outcome / m ** i) % m)).size]++;
      }
      const chance = occupancyDistribution(m, t);
      expect(chance.length).toBe(counts.length);
      counts.forEach((count, x) => {
        expect(Math.abs(chance[x]! - count / m ** t)).toBeLessThan(1e-15);
      });
    }
  });

  test('sums to 1 and has the closed mean and variance', () => {
    for (const [m, t] of [
      [10, 7],
      [100, 70],
      [512, 300],
      [1000, 1500],
      [5000, 200],
    ] as const) {
      const chance = occupancyDistribution(m, t);
      let total = 0;
      let mean = 0;
      for (let x = 0; x < chance.length; x++) {
        total += chance[x]!;
        mean += x * chance[x]!;
      }
      let variance = 0;
      for (let x = 0; x < chance.length; x++) variance += (x - mean) ** 2 * chance[x]!;
      expect(relativeError(total, 1)).toBeLessThan(1e-12);
      expect(relativeError(occupancyMean(m, t), mean)).toBeLessThan(1e-12);
      expect(relativeError(occupancyVariance(m, t), variance)).toBeLessThan(1e-10);
    }
  });

  test('no balls', () => {
    expect([...occupancyDistribution(5, 0)]).toEqual([1]);
    expect(occupancyMean(5, 0)).toBe(0);
    expect(occupancyVariance(5, 0)).toBe(0);
  });
});

describe('variance', () => {
  test('equals the rational number, also where the textbook form loses every digit', () => {
    for (const m of [2, 3, 5, 17, 31, 32, 33, 100, 1000, 2 ** 20, 2 ** 37]) {
      for (const t of [2, 3, 7, 30, 100, 700]) {
        if (t > 30 * m) continue;
        const want = exactVariance(m, t);
        if (want < 1e-20) continue;
        expect(relativeError(occupancyVariance(m, t), want), `m = ${m}, t = ${t}`).toBeLessThan(1e-12);
        const zeros = (m - 1) / m;
        const relative = want / (m * zeros ** t) ** 2;
        expect(relativeError(relativeZeroVariance(m, t), relative), `m = ${m}, t = ${t}`).toBeLessThan(1e-12);
      }
    }
  });

  test('large arrays approach m(e^-λ - (1+λ)e^-2λ)', () => {
    for (const load of [0.3, 0.7, 1, 1.5, 4]) {
      const m = 2 ** 37;
      const limit = m * (Math.exp(-load) - (1 + load) * Math.exp(-2 * load));
      expect(relativeError(occupancyVariance(m, load * m), limit)).toBeLessThan(1e-9);
    }
  });

  test('is zero when nothing is random', () => {
    expect(occupancyVariance(10, 1)).toBe(0);
    expect(occupancyVariance(1, 10)).toBe(0);
    expect(occupancyVariance(10, 1e6)).toBe(0);
  });
});

test('covariance of the zeros of two overlapping filters, by enumeration', () => {
  // 2 shared balls, 1 only in the first, 2 only in the second, 3 bins.
  const [m, shared, first, second] = [3, 2, 1, 2];
  const t = shared + first + second;
  let [sum1, sum2, product] = [0, 0, 0];
  for (let outcome = 0; outcome < m ** t; outcome++) {
    const bins = Array.from({ length: t }, (_, i) => Math.floor(outcome / m ** i) % m);
    const zeros1 = m - new Set(bins.slice(0, shared + first)).size;
    const zeros2 = m - new Set([...bins.slice(0, shared), ...bins.slice(shared + first)]).size;
    sum1 += zeros1;
    sum2 += zeros2;
    product += zeros1 * zeros2;
  }
  const outcomes = m ** t;
  const covariance = product / outcomes - (sum1 / outcomes) * (sum2 / outcomes);
  expect(relativeError(zeroCovariance(m, shared, first + second), covariance)).toBeLessThan(1e-12);
  expect(zeroCovariance(100, 30, 0)).toBe(occupancyVariance(100, 30));
});

test('wrong arguments', () => {
  expect(() => occupancyDistribution(0, 1)).toThrow(
    new RangeError('Cannot use m: expected an integer of at least 1, got 0'),
  );
  expect(() => occupancyDistribution(3, 1.5)).toThrow(RangeError);
  expect(() => occupancyMean(2.5, 1)).toThrow(RangeError);
  expect(() => occupancyVariance(2, -1)).toThrow(RangeError);
});
