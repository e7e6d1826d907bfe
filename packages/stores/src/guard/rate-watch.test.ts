import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type RateProblem, RateWatch } from './rate-watch.ts';

/** Absent keys that pass with the probability `rate`; returns the problems. */
function watch(watcher: RateWatch, random: Random, keys: number, rate: number, promised = 0.01) {
  const problems: RateProblem[] = [];
  for (let at = 0; at < keys; at++) {
    const problem = watcher.count(random.below(1_000_000) < 1_000_000 * rate, () => promised);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

test('RateWatch is silent at the promised rate, and reports twice that rate', () => {
  const random = new Random(3);
  expect(watch(new RateWatch(), random, 500_000, 0.01)).toEqual([]);
  const problems = watch(new RateWatch(), random, 100_000, 0.02);
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.at(-1)!.promisedRate).toBe(0.01);
});

test('RateWatch judges each window by itself', () => {
  const random = new Random(4);
  const watcher = new RateWatch();
  // Windows of 64, 128, … 2^16 keys end after 131,008 keys.
  expect(watch(watcher, random, 131_008, 0.01)).toEqual([]);
  const [problem, ...more] = watch(watcher, random, 131_072, 0.03);
  expect(more).toEqual([]);
  expect(problem.absent).toBe(131_072);
  // After a rebuild the rate is right again, and the past does not count.
  expect(watch(watcher, random, 262_144, 0.01)).toEqual([]);
});

test('RateWatch asks for the promised rate only at the end of a window with false hits', () => {
  const watcher = new RateWatch();
  let asked = 0;
  const promised = () => {
    asked++;
    return 0.5;
  };
  for (let at = 0; at < 63; at++) watcher.count(true, promised);
  expect(asked).toBe(0);
  watcher.count(true, promised);
  expect(asked).toBe(1);
  for (let at = 0; at < 128; at++) watcher.count(false, promised);
  expect(asked).toBe(1);
});
