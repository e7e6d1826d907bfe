import { expect, test } from 'vitest';
import { coverProbes, uncoveredProbes } from './covered-probes.ts';
import { rateFromOnes } from './from-ones.ts';
import { occupancyDistribution } from './occupancy.ts';

test('uncoveredProbes is the distribution of the distinct bits that k probes point at', () => {
  for (const [m, k] of [
    [1, 3],
    [2, 5],
    [7, 4],
    [512, 16],
    [1000, 40],
  ] as const) {
    const chance = uncoveredProbes(m, k);
    const occupied = occupancyDistribution(m, k);
    expect(chance.length).toBe(k + 2);
    for (let r = 0; r < chance.length; r++) {
      expect(Math.abs(chance[r]! - (occupied[r] ?? 0))).toBeLessThan(1e-14);
    }
  }
});

test('coverProbes gives the mean of (X/m)^k over the distribution of the ones', () => {
  for (const [m, k, t] of [
    [1, 1, 1],
    [2, 2, 2],
    [3, 7, 5],
    [100, 7, 70],
    [512, 16, 400],
    [1400, 29, 900],
  ] as const) {
    const ones = occupancyDistribution(m, t);
    let mean = 0;
    for (let x = 0; x < ones.length; x++) mean += ones[x]! * rateFromOnes(m, x, k);
    const got = coverProbes(uncoveredProbes(m, k), m, t);
    expect(Math.abs(got / mean - 1), `${m} ${k} ${t}`).toBeLessThan(1e-11);
  }
});

test('coverProbes goes on where the last call ended', () => {
  const [whole, parts] = [uncoveredProbes(64, 6), uncoveredProbes(64, 6)];
  coverProbes(parts, 64, 10);
  expect(coverProbes(parts, 64, 30)).toBe(coverProbes(whole, 64, 40));
});
