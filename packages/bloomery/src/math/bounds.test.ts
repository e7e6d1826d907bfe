import { describe, expect, test } from 'vitest';
import {
  BLOOM_OVERHEAD,
  counterExactProbability,
  counterOverflowBound,
  counterOverflowBoundOptimal,
  counterProbability,
  fingerprintBits,
  lowerBoundBits,
  lowerBoundBitsInUniverse,
  zeroFractionTailCompressed,
  zeroFractionTailSurvey,
} from './bounds.ts';
import { occupancyDistribution, occupancyMean } from './occupancy.ts';
import { sizeClassic } from './size-classic.ts';

const relativeError = (got: number, want: number) => Math.abs(got / want - 1);

describe('space (survey 2.2)', () => {
  test('1.44 times the lower bound', () => {
    expect(BLOOM_OVERHEAD.toFixed(2)).toBe('1.44');
    const { bits } = sizeClassic({ capacity: 1e8, falsePositiveRate: 2 ** -10 });
    expect((bits / lowerBoundBits(1e8, 2 ** -10)).toFixed(4)).toBe('1.4427');
  });

  test('j bits per key give 2^-j at the bound and 0.6185^j in a Bloom filter', () => {
    expect(lowerBoundBits(1000, 2 ** -8)).toBe(8000);
    expect(fingerprintBits(1000, 2 ** -8)).toBe(8000);
    expect(fingerprintBits(1000, 0.01)).toBe(7000);
  });

  test('small universes against exact binomial coefficients', () => {
    const choose = (a: bigint, b: bigint) => {
      let value = 1n;
      for (let i = 0n; i < b; i++) value = (value * (a - i)) / (i + 1n);
      return value;
    };
    for (const [n, u, epsilon] of [
      [5, 105, 0.1],
      [50, 1050, 0.25],
      [20, 20_020, 0.01],
    ] as const) {
      const accepted = n + epsilon * (u - n);
      const ratio = (choose(BigInt(u), BigInt(n)) * 10n ** 20n) / choose(BigInt(accepted), BigInt(n));
      const want = Math.log2(Number(ratio) / 1e20);
      expect(relativeError(lowerBoundBitsInUniverse(n, epsilon, u), want)).toBeLessThan(1e-12);
    }
  });

  test('large universes approach n log2(1/ε) from below, without losing digits', () => {
    const exact = lowerBoundBitsInUniverse(1e6, 0.01, 2 ** 64);
    expect(relativeError(exact, lowerBoundBits(1e6, 0.01))).toBeLessThan(1e-9);
    const near = lowerBoundBitsInUniverse(1e6, 0.01, 1e9);
    // The integral against the plain sum over a million factors.
    const accepted = 1e6 + 0.01 * (1e9 - 1e6);
    let plain = 0;
    for (let i = 0; i < 1e6; i++) plain += Math.log2((1e9 - i) / (accepted - i));
    expect(relativeError(near, plain)).toBeLessThan(1e-9);
    expect(near).toBeLessThan(lowerBoundBits(1e6, 0.01));
    // The whole universe is in the set: nothing to distinguish.
    expect(Math.abs(lowerBoundBitsInUniverse(100, 0.5, 100))).toBeLessThan(1e-10);
  });
});

describe('concentration', () => {
  test('as printed: survey 2.1 and compressed, appendix', () => {
    expect(relativeError(zeroFractionTailSurvey(1000, 5, 100, 0.05), 2 * Math.exp(-10))).toBeLessThan(1e-14);
    expect(relativeError(zeroFractionTailCompressed(1000, 5, 100, 0.05), 2 * Math.exp(-2.5))).toBeLessThan(
      1e-14,
    );
  });

  test('both hold for the exact distribution', () => {
    const [m, k, n] = [400, 4, 60];
    const chance = occupancyDistribution(m, k * n);
    const mean = occupancyMean(m, k * n);
    for (const epsilon of [0.005, 0.02, 0.05, 0.1]) {
      let tail = 0;
      chance.forEach((p, x) => {
        if (Math.abs(x - mean) > epsilon * m) tail += p;
      });
      expect(tail).toBeLessThan(zeroFractionTailSurvey(m, k, n, epsilon));
      expect(zeroFractionTailSurvey(m, k, n, epsilon)).toBeLessThan(
        zeroFractionTailCompressed(m, k, n, epsilon),
      );
    }
  });
});

describe('counters (survey 2.5)', () => {
  test('1.37e-15 · m for 4-bit counters', () => {
    expect(counterOverflowBoundOptimal(1, 16).toPrecision(3)).toBe('1.37e-15');
    expect(counterOverflowBoundOptimal(1_000_000, 16).toPrecision(3)).toBe('1.37e-9');
  });

  test('against exact binomial coefficients', () => {
    const [m, k, n] = [50, 3, 20];
    let choose = 1n;
    const exact: number[] = [];
    for (let j = 0; j <= 60; j++) {
      exact.push(Number((choose * BigInt(m - 1) ** BigInt(60 - j) * 10n ** 60n) / BigInt(m) ** 60n) / 1e60);
      choose = (choose * BigInt(60 - j)) / BigInt(j + 1);
    }
    for (let j = 0; j <= 20; j++) {
      expect(relativeError(counterExactProbability(m, k, n, j), exact[j]!)).toBeLessThan(1e-12);
      const tail = exact.slice(j).reduce((a, b) => a + b);
      expect(relativeError(counterProbability(m, k, n, j), tail)).toBeLessThan(1e-12);
    }
    expect(counterExactProbability(m, k, n, 61)).toBe(0);
    expect(counterProbability(m, k, n, 61)).toBe(0);
  });

  test('the bounds bound the exact tail', () => {
    const [m, k, n] = [10_000, 7, 990];
    for (const j of [2, 4, 8, 16]) {
      expect(m * counterProbability(m, k, n, j)).toBeLessThan(counterOverflowBound(m, k, n, j));
      expect(counterOverflowBound(m, k, n, j)).toBeLessThan(counterOverflowBoundOptimal(m, j) * 1.0001);
    }
    // With k = ln2·m/n the two bounds are the same.
    expect(
      relativeError(
        counterOverflowBound(2 ** 40, 1, Math.round(2 ** 40 * Math.LN2), 16),
        counterOverflowBoundOptimal(2 ** 40, 16),
      ),
    ).toBeLessThan(1e-9);
  });
});

test('wrong arguments', () => {
  expect(() => lowerBoundBits(10, 1)).toThrow(
    new RangeError('Cannot use epsilon: expected strictly between 0 and 1, got 1'),
  );
  expect(() => lowerBoundBitsInUniverse(10, 0.1, 5)).toThrow(/^Cannot use u: expected/);
  expect(() => counterProbability(1, 1, 1, 1)).toThrow(/^Cannot use m: expected/);
  expect(() => counterOverflowBound(10, 1, 1, 0)).toThrow(/^Cannot use j: expected/);
});
