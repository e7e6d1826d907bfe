import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { summaryRate, universeFor, widerUniverse } from './summary-universe.ts';

test('all neighbours together have at most 0.02 false candidates, and at least half of it', () => {
  for (const neighbours of [1, 2, 3, 4, 63, 64, 65, 256, 1023]) {
    const candidates = neighbours * summaryRate(neighbours);
    expect(candidates).toBeLessThanOrEqual(0.02);
    expect(candidates).toBeGreaterThan(0.01);
  }
  expect([0, 1, 4, 256].map((neighbours) => summaryRate(neighbours))).toEqual([
    0.02,
    0.02,
    0.005,
    0.02 / 256,
  ]);
});

test('a rate changes only when the number of neighbours passes a power of two', () => {
  expect(summaryRate(33)).toBe(summaryRate(64));
  expect(summaryRate(65)).toBe(summaryRate(64) / 2);
});

test('a new universe holds the rate, with room for a quarter more, and is a power of two', () => {
  const random = new Random(31);
  for (let i = 0; i < 1000; i++) {
    const positions = Math.floor(2 ** (random.below(2000) / 100));
    const neighbours = 1 + random.below(1000);
    const universe = universeFor(positions, neighbours);
    expect(Math.log2(universe) % 1).toBe(0);
    expect((1.25 * positions) / universe).toBeLessThanOrEqual(summaryRate(neighbours));
    if (universe > 2 ** 20)
      expect((1.25 * positions) / universe).toBeGreaterThan(summaryRate(neighbours) / 2);
    expect(widerUniverse(universe, positions, neighbours)).toBeNull();
  }
  // 100,000 objects in a fleet of 256.
  expect(universeFor(100_000, 256)).toBe(2 ** 31);
});

test('a universe grows when the rate is exceeded, and not before', () => {
  const limit = Math.floor(2 ** 20 * summaryRate(4));
  expect(widerUniverse(2 ** 20, limit, 4)).toBeNull();
  expect(widerUniverse(2 ** 20, limit + 1, 4)).toBe(2 ** 21);
  expect(widerUniverse(2 ** 20, 100 * limit, 4)).toBe(2 ** 27);
  expect(widerUniverse(2 ** 20, limit, 5)).toBe(2 ** 22);
});

test('a universe neither shrinks nor exceeds 48 bits', () => {
  expect(widerUniverse(2 ** 40, 10, 1)).toBeNull();
  expect(universeFor(10 ** 12, 1000)).toBe(2 ** 48);
  expect(widerUniverse(2 ** 48, 10 ** 14, 1000)).toBeNull();
});
