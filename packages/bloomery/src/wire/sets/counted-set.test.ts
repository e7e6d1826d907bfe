import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { CountedSet } from './counted-set.ts';
import { finishSteps } from './steps.ts';

test('CountedSet counts the keys of a position, and changes with the first and the last', () => {
  const set = new CountedSet(1000);
  expect([set.add(7), set.add(7), set.add(9)]).toEqual([true, false, true]);
  expect(finishSteps(set.changes(false))).toEqual({
    removed: Float64Array.of(),
    added: Float64Array.of(7, 9),
  });
  finishSteps(set.settle(finishSteps(set.changes(false))));
  expect([set.delete(7), set.has(7), set.changedCount]).toEqual([false, true, 0]);
  expect([set.delete(7), set.has(7), set.changedCount]).toEqual([true, false, 1]);
  expect([set.delete(7), set.changedCount]).toEqual([false, 1]); // it is gone already
  expect([set.add(7), set.changedCount]).toEqual([true, 0]); // back, as it was published
});

test('CountedSet leaves removed positions pending when only additions are taken', () => {
  const set = new CountedSet(1000);
  set.addSettled(1);
  set.delete(1);
  set.add(2);
  const changes = finishSteps(set.changes(true));
  expect(changes).toEqual({ removed: Float64Array.of(), added: Float64Array.of(2) });
  finishSteps(set.settle(changes));
  expect([...set.settled]).toEqual([1, 2]);
  expect([set.size, set.changedCount]).toEqual([1, 1]);
  expect(finishSteps(set.changes(false))).toEqual({ removed: Float64Array.of(1), added: Float64Array.of() });
});

test('CountedSet settles changes that were taken before other keys came and went', () => {
  const random = new Random(1);
  const set = new CountedSet(1000);
  const counts = new Map<number, number>();
  const change = () => {
    for (let i = 0; i < 40; i++) {
      const position = random.below(60);
      const count = counts.get(position) ?? 0;
      const adds = count === 0 || random.below(2) === 0;
      counts.set(position, adds ? count + 1 : count - 1);
      expect(adds ? set.add(position) : set.delete(position)).toBe(count === (adds ? 0 : 1));
    }
  };
  for (let round = 0; round < 300; round++) {
    change();
    const expected = [...counts].filter(([, count]) => count > 0).map(([position]) => position);
    const changes = finishSteps(set.changes(false));
    change(); // meanwhile
    finishSteps(set.settle(changes));
    expect([...set.settled]).toEqual(expected.sort((a, b) => a - b));
    const now = [...counts].filter(([, count]) => count > 0).map(([position]) => position);
    expect(now.every((position) => set.has(position))).toBe(true);
    expect(set.size).toBe(now.length);
  }
});

test('CountedSet gathers the changes of one moment in steps, while others come and go', () => {
  const set = new CountedSet(2 ** 40);
  const early = Array.from({ length: 5000 }, (_, i) => i * 2 ** 27 + 3);
  for (const position of early) set.add(position);
  const steps = set.changes(false);
  let [step, count] = [steps.next(), 0];
  for (; !step.done; step = steps.next(), count++) {
    set.add(2 ** 39 + 4 + count);
    set.delete(early.at(-1 - count)!);
  }
  expect(count).toBeGreaterThan(5);
  expect(step.value).toEqual({ removed: Float64Array.of(), added: Float64Array.from(early) });
  expect(set.changedCount).toBe(5000);
});

test('CountedSet gathers a position as it was, though it changed several times meanwhile', () => {
  const random = new Random(8);
  for (let round = 0; round < 20; round++) {
    const set = new CountedSet(2 ** 40);
    const position = () => random.below(3000) * 2 ** 28 + 5;
    for (let i = 0; i < 2000; i++) set.addSettled(position());
    const settled = new Set(set.settled);
    const change = (times: number) => {
      for (let i = 0; i < times; i++) {
        const at = position();
        if (set.has(at)) while (!set.delete(at));
        else set.add(at);
      }
    };
    change(1500);
    const all = Array.from({ length: 3000 }, (_, i) => i * 2 ** 28 + 5);
    const expected = {
      removed: Float64Array.from(all.filter((at) => settled.has(at) && !set.has(at))),
      added: Float64Array.from(all.filter((at) => !settled.has(at) && set.has(at))),
    };
    const steps = set.changes(false);
    let step = steps.next();
    for (; !step.done; step = steps.next()) change(400);
    expect(step.value).toEqual(expected);
  }
});
