import { describe, expect, test } from 'vitest';
import { planSummary } from './plan-summary.ts';

/** Bytes of the deltas, by form. */
function deltas(falsePositiveRate: number, changedFraction: number): number[] {
  const { forms } = planSummary({ capacity: 100_000, falsePositiveRate, changedFraction });
  return forms.map(({ deltaBytes }) => Math.round(deltaBytes));
}

describe('planSummary', () => {
  test('compares the forms at the rate of table VI (m/n = 12, k = 3)', () => {
    const rate = (1 - Math.exp(-3 / 12)) ** 3;
    const { forms, best } = planSummary({
      capacity: 100_000,
      falsePositiveRate: rate,
      changedFraction: 0.01,
    });
    expect(best).toBe(forms[0]);
    expect(forms[0]).toMatchObject({ structure: 'set', hashes: 1 });
    expect(Math.round(forms[0].bits / 1e5)).toBe(92);
    expect(forms[2]).toMatchObject({ structure: 'bloom', hashes: 3, bits: 1_200_000 });
    expect(deltas(rate, 0.01).slice(0, 3)).toEqual([2806, 4670, 5511]);
    expect(deltas(rate, 0.05).slice(0, 3)).toEqual([11_139, 18_108, 20_665]);
    expect(forms.slice(0, 3).map(({ fullBytes }) => Math.round(fullBytes))).toEqual([
      99_018, 109_614, 114_353,
    ]);
  });

  test('derives the rate from the false candidates of a fleet', () => {
    const plan = planSummary({
      capacity: 1e5,
      falseCandidates: 0.02,
      neighbours: 256,
      changedFraction: 0.01,
    });
    expect(plan.falsePositiveRate).toBe(0.02 / 256);
    expect(deltas(0.02 / 256, 0.01).slice(0, 3)).toEqual([3726, 6896, 8374]);
  });

  test('takes a Bloom filter where memory is scarce, and nothing where none fits', () => {
    const request = { capacity: 1e5, falsePositiveRate: 0.01, changedFraction: 0.01 };
    expect(planSummary({ ...request, maxMemoryBytes: 600_000 }).best).toMatchObject({ structure: 'set' });
    expect(planSummary({ ...request, maxMemoryBytes: 300_000 }).best).toMatchObject({ hashes: 2 });
    expect(planSummary({ ...request, maxMemoryBytes: 125_000 }).best).toMatchObject({ hashes: 5 });
    expect(planSummary({ ...request, maxMemoryBytes: 100_000 }).best).toBe(undefined);
  });

  test('finds the set ahead at every rate and churn', () => {
    for (const falsePositiveRate of [0.2, 0.05, 1e-3, 1e-6]) {
      for (const changedFraction of [0.001, 0.01, 0.1, 0.5]) {
        const { best } = planSummary({ capacity: 1e6, falsePositiveRate, changedFraction });
        expect(best).toMatchObject({ structure: 'set' });
      }
    }
  });

  test('refuses requests that are none', () => {
    const request = { capacity: 1000, changedFraction: 0.01 };
    expect(() => planSummary(request as never)).toThrow(TypeError);
    expect(() => planSummary({ ...request, falsePositiveRate: 2 })).toThrow(RangeError);
    expect(() => planSummary({ ...request, falseCandidates: 0.02 } as never)).toThrow(TypeError);
    expect(() => planSummary({ ...request, falseCandidates: 5, neighbours: 2 })).toThrow(RangeError);
    expect(() => planSummary({ ...request, falsePositiveRate: 0.1, neighbours: 2 } as never)).toThrow(
      /got both/,
    );
    expect(() => planSummary({ ...request, capacity: 0, falsePositiveRate: 0.1 })).toThrow(RangeError);
  });
});
