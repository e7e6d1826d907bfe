import { describe, expect, test } from 'vitest';
import { checkPolicy, isMergeDue, msUntil } from './merge-policy.ts';
import { recommendedChanges } from './merge-threshold.ts';

describe('isMergeDue', () => {
  const facts = { logBytes: 1000, changedKeys: 10, baseRecords: 100 };

  test('a merge is due at a size or at a share of the base, and never without changes', () => {
    expect(isMergeDue({}, facts)).toBe(false);
    expect([999, 1000, 1001].map((atBytes) => isMergeDue({ atBytes }, facts))).toEqual([true, true, false]);
    expect([0.09, 0.1, 0.11].map((atShare) => isMergeDue({ atShare }, facts))).toEqual([true, true, false]);
    expect(isMergeDue({ atShare: 0.1 }, { ...facts, baseRecords: undefined })).toBe(false);
    expect(isMergeDue({ atBytes: 1 }, { ...facts, changedKeys: 0 })).toBe(false);
  });

  test('msUntil is the time to the next moment of this kind, never 0', () => {
    const at = (hours: number, minutes: number, ms = 0) => msUntil('03:30', { hours, minutes, ms });
    expect(at(3, 29)).toBe(60_000);
    expect(at(3, 29, 59_999)).toBe(1);
    expect(at(3, 30)).toBe(86_400_000);
    expect(at(3, 30, 1)).toBe(86_399_999);
    expect(at(0, 0)).toBe(3.5 * 3_600_000);
  });

  test('checkPolicy refuses values that mean nothing', () => {
    for (const policy of [{ atBytes: 0 }, { atShare: -1 }, { atTime: '3:30' }, { atTime: '12:60' }])
      expect(() => checkPolicy(policy)).toThrow(RangeError);
    checkPolicy({ atBytes: 1, atShare: 2, atTime: '23:59' });
  });
});

test('recommendedChanges is where the cost of a change is least', () => {
  const costs = {
    mergeSeconds: 5,
    differentialReadSeconds: 1e-5,
    readsPerChange: 20,
    baseRecords: 1e6,
    startSecondsPerChange: 1e-5,
    startsPerChange: 0.001,
  };
  // Cost of a change in a cycle of n changes, summed read by read and start by start.
  const perChange = (n: number) => {
    let sum = costs.mergeSeconds;
    for (let i = 0; i < n; i++)
      sum += costs.readsPerChange * costs.differentialReadSeconds * (i / 1e6) + 0.001 * 1e-5 * i;
    return sum / n;
  };
  const best = Math.round(recommendedChanges(costs));
  expect(perChange(best)).toBeLessThan(perChange(Math.round(best * 0.98)));
  expect(perChange(best)).toBeLessThan(perChange(Math.round(best * 1.02)));
  const free = { ...costs, differentialReadSeconds: 0, startsPerChange: 0 };
  expect(recommendedChanges(free)).toBe(Number.POSITIVE_INFINITY);
  expect(() => recommendedChanges({ ...costs, mergeSeconds: -1 })).toThrow(RangeError);
});
