import { expect, test } from 'vitest';
import { firstChanges } from './first-changes.ts';

const rising = (count: number, end: number) =>
  Float64Array.from({ length: count }, (_, i) => Math.floor((i * end) / Math.max(1, count)));

test('firstChanges() gives changes that fit as they are', () => {
  const changes = { removed: rising(10, 1000), added: rising(10, 2 ** 20) };
  expect(firstChanges(changes, { positions: { size: 1000 }, universe: 2 ** 20 }, 1300)).toEqual(changes);
});

const SET = { positions: { size: 10_000 }, universe: 2 ** 20 };

test('firstChanges() takes the first of both lists in their proportion, and always one', () => {
  const changes = { removed: rising(3000, 10_000), added: rising(1000, 2 ** 20) };
  const { removed, added } = firstChanges(changes, SET, 500);
  expect(removed).toEqual(changes.removed.subarray(0, removed.length));
  expect(added).toEqual(changes.added.subarray(0, added.length));
  expect(Math.abs(removed.length - 3 * added.length)).toBeLessThanOrEqual(2);
  expect(added.length).toBeGreaterThan(10);
  const least = firstChanges(changes, SET, 0);
  expect(least.removed.length + least.added.length).toBe(1);
});
