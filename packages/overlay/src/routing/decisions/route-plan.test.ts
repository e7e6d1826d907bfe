import { expect, test } from 'vitest';
import { nodesByLevel, planRoutes } from './route-plan.ts';

test('nodesByLevel counts the ends of walks in a tree of that degree', () => {
  expect(nodesByLevel(4, 4)).toEqual([1, 4, 13, 40]);
  expect(nodesByLevel(2, 4)).toEqual([1, 2, 3, 4]);
  expect(nodesByLevel(1, 3)).toEqual([1, 1, 2]);
});

test('planRoutes keeps to the memory, and grows the folded widths with the keys', () => {
  const plan = planRoutes({ degree: 4, objectsPerNode: 50 });
  expect(plan.keys).toEqual([50, 200, 650]);
  expect(plan.stateBytes).toBeLessThanOrEqual(64 * 1024);
  expect(plan.bits).toBeGreaterThanOrEqual(20 * 650);
  expect(plan.widths).toEqual([plan.bits / 16, plan.bits / 4, plan.bits]);
  const tight = planRoutes({ degree: 4, objectsPerNode: 50, levels: 4, stateBytes: 16 * 1024 });
  expect(tight.stateBytes).toBeLessThanOrEqual(16 * 1024);
  expect(tight.bits / tight.keys[3]).toBeLessThan(3);
  expect(tight.hashes).toBe(1);
});

test('planRoutes refuses networks that do not fit, and numbers that are none', () => {
  expect(() => planRoutes({ objectsPerNode: 50, levels: 6 })).toThrow(
    /Cannot plan routes: expected at least/,
  );
  for (const wrong of [
    { objectsPerNode: 0 },
    { objectsPerNode: 5, degree: 0 },
    { objectsPerNode: 5, levels: 9 },
  ])
    expect(() => planRoutes(wrong)).toThrow(/Cannot plan routes: expected \w+ to be an integer from/);
});
