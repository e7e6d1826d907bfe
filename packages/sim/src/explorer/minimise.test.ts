import { expect, test } from 'vitest';
import { minimise } from './minimise.ts';

const items = Array.from({ length: 100 }, (_, i) => i);
const needs =
  (...needed: number[]) =>
  async (kept: readonly number[]) =>
    needed.every((each) => kept.includes(each));

test('minimise finds one, two and many needed items, in their order', async () => {
  expect(await minimise(items, needs(42))).toEqual([42]);
  expect(await minimise(items, needs(7, 93))).toEqual([7, 93]);
  const many = items.filter((each) => each % 9 === 4);
  expect(await minimise(items, needs(...many))).toEqual(many);
  expect(await minimise(items, needs())).toEqual([]);
});

test('minimise keeps everything if everything is needed', async () => {
  expect(await minimise([1, 2, 3], needs(1, 2, 3))).toEqual([1, 2, 3]);
});

test('minimise is 1-minimal where either of two items is enough', async () => {
  const kept = await minimise(items, async (some) => some.includes(10) || some.includes(80));
  expect(kept).toHaveLength(1);
});
