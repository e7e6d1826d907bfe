import { describe, expect, test } from 'vitest';
import { rateAsymptotic, rateExact } from './rates.ts';
import { rateTrue, rateTrueVariance, uncheckedRateTrue } from './true-rate.ts';

/**
 * E[(X/m)^k] as an exact fraction, by a way that shares nothing with the code under test: the k
 * probes hit d distinct bits (Stirling numbers of the second kind), and d given bits are all set
 * with probability Σ (-1)^i C(d,i) (1-i/m)^t.
 */
function exactMoment(m: number, k: number, t: number): [numerator: bigint, denominator: bigint] {
  const M = BigInt(m);
  let stirling = [1n];
  for (let j = 1; j <= k; j++) {
    stirling = Array.from(
      { length: j + 1 },
      (_, d) => (stirling[d] ?? 0n) * BigInt(d) + (stirling[d - 1] ?? 0n),
    );
  }
  const missed = Array.from({ length: Math.min(k, m) + 1 }, (_, i) => (M - BigInt(i)) ** BigInt(t));
  let sum = 0n;
  let falling = 1n;
  for (let d = 1; d <= Math.min(k, m); d++) {
    falling *= M - BigInt(d - 1);
    let all = 0n;
    let choose = 1n;
    for (let i = 0; i <= d; i++) {
      all += (i % 2 === 0 ? choose : -choose) * missed[i]!;
      choose = (choose * BigInt(d - i)) / BigInt(i + 1);
    }
    sum += stirling[d]! * falling * all;
  }
  return [sum, M ** BigInt(k + t)];
}

/** got / (a/b) - 1, exactly enough: the ratio is taken with 60 digits. */
function relativeErrorTo([a, b]: [bigint, bigint], got: number): number {
  const scaled = 2 ** (60 - Math.floor(Math.log2(got)));
  const shift = BigInt(Math.round(Math.log2(scaled)));
  const ratio = Number((BigInt(Math.round(got * scaled)) * b * 10n ** 30n) / (a << shift)) / 1e30;
  return Math.abs(ratio - 1);
}

describe('known answers', () => {
  test('one key, two functions, two bits: 5/8', () => {
    expect(rateTrue(2, 2, 1)).toBe(5 / 8);
    // (X/2)² is 1/4 or 1, each with probability 1/2.
    expect(rateTrueVariance(2, 2, 1)).toBe(9 / 64);
  });

  test('brute force over every hash outcome, of the keys and of a non-member key', () => {
    for (const [m, k, n] of [
      [2, 2, 1],
      [3, 2, 2],
      [4, 3, 1],
      [5, 2, 2],
      [3, 1, 3],
      [4, 2, 3],
      [3, 4, 1],
      [6, 1, 4],
    ] as const) {
      const t = k * n;
      let [hits, squares] = [0, 0];
      for (let outcome = 0; outcome < m ** t; outcome++) {
        const bits = new Set(Array.from({ length: t }, (_, i) => Math.floor(outcome / m ** i) % m));
        let positives = 0;
        for (let probe = 0; probe < m ** k; probe++) {
          if (Array.from({ length: k }, (_, i) => Math.floor(probe / m ** i) % m).every((b) => bits.has(b))) {
            positives++;
          }
        }
        hits += positives / m ** k;
        squares += (positives / m ** k) ** 2;
      }
      const mean = hits / m ** t;
      expect(Math.abs(rateTrue(m, k, n) / mean - 1), `${m} ${k} ${n}`).toBeLessThan(1e-13);
      const variance = squares / m ** t - mean ** 2;
      expect(Math.abs(rateTrueVariance(m, k, n) - variance), `${m} ${k} ${n}`).toBeLessThan(1e-14);
    }
  });
});

describe('against exact fractions, on both sides of the hand-over', () => {
  test.each([
    [1, 1e-13],
    [2, 1e-6],
    [3, 1e-6],
    [5, 1e-6],
    [7, 1e-6],
    [10, 1e-6],
    [16, 1e-6],
    [24, 1e-6],
    [40, 1e-6],
    [64, 2e-5],
  ])('k = %d within a relative %d', (k, bound) => {
    for (const n of [1, 2, 3, 5, 9, 20, 40, 80, 150]) {
      if (k * n > 3000) continue;
      for (const bitsPerSetting of [0.3, 1, 1 / Math.LN2, 5, 1000]) {
        const m = Math.max(1, Math.round(k * n * bitsPerSetting));
        const rate = rateTrue(m, k, n);
        expect(relativeErrorTo(exactMoment(m, k, k * n), rate), `m = ${m}, n = ${n}`).toBeLessThan(bound);
      }
    }
  });

  test.each([1, 2, 4, 7, 12, 20])('variance at k = %d: E[R²] - E[R]²', (k) => {
    for (const n of [2, 10, 40, 100]) {
      const m = Math.round((k * n) / Math.LN2);
      const [a1, b1] = exactMoment(m, k, k * n);
      const [a2, b2] = exactMoment(m, 2 * k, k * n);
      const variance: [bigint, bigint] = [a2 * b1 * b1 - a1 * a1 * b2, b2 * b1 * b1];
      // Third-order terms remain in the spread: a relative k²/m at the hand-over, checked at 1e-4.
      expect(relativeErrorTo(variance, rateTrueVariance(m, k, n)), `m = ${m}`).toBeLessThan(1e-4);
    }
  });
});

describe('properties', () => {
  test('a search with a limit gets a rate on the right side of it, also close to it', () => {
    let shortcuts = 0;
    for (const n of [1, 2, 5, 12, 20, 32, 50, 64])
      for (const k of [1, 2, 3, 5, 10, 20, 33, 50, 80])
        for (const load of [0.3, 0.6, 0.9, 1, 1.1, 1.5, 3]) {
          const m = Math.max(2, Math.round((load * k * n) / Math.LN2));
          const rate = rateTrue(m, k, n);
          for (const near of [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.1])
            for (const limit of [rate * (1 - near), rate * (1 + near)]) {
              const got = uncheckedRateTrue(m, k, n, limit);
              expect(got > limit, `m ${m}, k ${k}, n ${n}, ${near}`).toBe(rate > limit);
              if (got !== rate) shortcuts++;
            }
        }
    // Where the exact rate is worthwhile, many questions are answered without it.
    expect(shortcuts).toBeGreaterThan(1000);
  });

  test('f <= f\u2032 <= true: Jensen, with equality of the last two only at k = 1', () => {
    for (const k of [1, 2, 3, 7, 12]) {
      for (const n of [1, 2, 10, 100, 10_000, 1e8]) {
        for (const bitsPerKey of [1, 4, 10, 30]) {
          const m = Math.ceil(bitsPerKey * n);
          const rounding = 1 + 1e-12;
          expect(rateAsymptotic(m, k, n)).toBeLessThanOrEqual(rateExact(m, k, n) * rounding);
          expect(rateExact(m, k, n)).toBeLessThanOrEqual(rateTrue(m, k, n) * rounding);
        }
      }
      expect(Math.abs(rateTrue(1000, 1, 100) / rateExact(1000, 1, 100) - 1)).toBeLessThan(1e-12);
    }
    expect(rateTrue(500, 7, 50)).toBeGreaterThan(rateExact(500, 7, 50) * 1.005);
  });

  test('converges to f\u2032 like (k-1)k/2 · Var/mean²', () => {
    const m = 2 ** 36;
    expect(Math.abs(rateTrue(m, 7, 7e9) / rateExact(m, 7, 7e9) - 1)).toBeLessThan(1e-9);
  });

  test('decreases with m, increases with n', () => {
    for (let i = 20; i < 2000; i += 20) {
      expect(rateTrue(i + 20, 5, 20)).toBeLessThan(rateTrue(i, 5, 20));
      expect(rateTrue(2000, 5, i + 20)).toBeGreaterThan(rateTrue(2000, 5, i));
    }
  });

  test('edges', () => {
    expect(rateTrue(10, 3, 0)).toBe(0);
    expect(rateTrueVariance(10, 3, 0)).toBe(0);
    expect(rateTrue(1, 3, 2)).toBe(1);
    expect(rateTrue(64, 8, 1e6)).toBe(1);
    expect(() => rateTrue(10, 1.5, 3)).toThrow(
      new RangeError('Cannot use k: expected an integer of at least 1, got 1.5'),
    );
    expect(() => rateTrue(10, 1, '3' as unknown as number)).toThrow(TypeError);
  });
});
