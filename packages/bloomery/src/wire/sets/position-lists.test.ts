import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { codeList, inOddNumber, listOf } from './position-lists.ts';
import { finishSteps, type Steps } from './steps.ts';

test.each([0, 1, 2, 3, 7, 8])('inOddNumber of %i lists is their symmetric difference', (count) => {
  const random = new Random(count);
  for (const most of [0, 1, 5, 300]) {
    const lists = Array.from({ length: count }, () => rising(random, most, 400));
    const expected = new Set<number>();
    for (const list of lists) {
      for (const position of list) if (!expected.delete(position)) expected.add(position);
    }
    expect([...finishSteps(inOddNumber(lists))]).toEqual([...expected].sort((a, b) => a - b));
  }
});

test('listOf reads the list that codeList wrote, up to 2^48', () => {
  const random = new Random(9);
  for (const universe of [400, 2 ** 32, 2 ** 48]) {
    const list = rising(random, 2000, universe);
    expect(finishSteps(listOf(finishSteps(codeList(list)), list.length))).toEqual(list);
  }
  const ends = Float64Array.of(0, 2 ** 48 - 1);
  expect(finishSteps(listOf(finishSteps(codeList(ends)), 2))).toEqual(ends);
});

test('lists are merged, coded and read in steps', () => {
  const random = new Random(3);
  const lists = [rising(random, 20_000, 2 ** 40), rising(random, 20_000, 2 ** 40)];
  expect(countSteps(inOddNumber(lists))).toBeGreaterThan(10);
  expect(countSteps(codeList(lists[0]))).toBeGreaterThan(10);
  expect(countSteps(listOf(finishSteps(codeList(lists[0])), lists[0].length))).toBeGreaterThan(10);
});

function rising(random: Random, most: number, universe: number): Float64Array {
  const positions = Array.from({ length: most }, () =>
    Math.floor((random.below(2 ** 24) / 2 ** 24) * universe),
  );
  return Float64Array.from(new Set(positions)).sort();
}

function countSteps(steps: Steps<unknown>): number {
  let count = 1;
  for (; !steps.next().done; count++);
  return count;
}
