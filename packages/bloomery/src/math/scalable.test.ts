import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { checkScalablePlan, countKeys, estimateScalableSize, stagePlan } from './scalable.ts';

const plan = { falsePositiveRate: 0.01, initialCapacity: 1000, growth: 2, tightening: 0.5 };

test('stages grow and tighten, and all of them together stay below the rate', () => {
  expect(stagePlan(plan, 0)).toEqual({ capacity: 1000, falsePositiveRate: 0.005 });
  expect(stagePlan(plan, 3)).toEqual({ capacity: 8000, falsePositiveRate: 0.000625 });
  expect(stagePlan({ ...plan, growth: 1.5, initialCapacity: 3 }, 2).capacity).toBe(6);
  for (const falsePositiveRate of [0.5, 0.01, 1e-6]) {
    for (const tightening of [0.1, 0.5, 0.85, 0.99]) {
      let right = 1;
      let sum = 0;
      for (let i = 0; i < 300; i++) {
        const rate = stagePlan({ ...plan, falsePositiveRate, tightening }, i).falsePositiveRate;
        right *= 1 - rate;
        sum += rate;
      }
      expect(1 - right).toBeLessThanOrEqual(falsePositiveRate);
      // Nothing is given away: the sum of the rates reaches the promised one.
      expect(sum).toBeLessThanOrEqual(falsePositiveRate * (1 + 1e-12));
      expect(sum).toBeGreaterThan(falsePositiveRate * (1 - tightening ** 300 - 1e-12));
    }
  }
});

test('plans that make no sense are refused by name', () => {
  expect(() => checkScalablePlan({ ...plan, falsePositiveRate: 1 })).toThrow(/falsePositiveRate/);
  expect(() => checkScalablePlan({ ...plan, initialCapacity: 0 })).toThrow(
    /Cannot use initialCapacity: expected/,
  );
  expect(() => checkScalablePlan({ ...plan, growth: 1 })).toThrow(
    /Cannot use growth: expected a number from 1.25 to 1000/,
  );
  expect(() => checkScalablePlan({ ...plan, growth: Number.NaN })).toThrow(/growth/);
  expect(() => checkScalablePlan({ ...plan, tightening: 1 })).toThrow(/tightening/);
});

test('the keys left out are those of a simulation', () => {
  // Stages by their formulas only, one coin for each new key.
  const stages = [
    { bits: 3000, hashes: 2, count: 800 },
    { bits: 9000, hashes: 3, count: 1500 },
  ];
  const random = new Random(5);
  const runs = 300;
  let sum = 0;
  let squares = 0;
  for (let run = 0; run < runs; run++) {
    let left = 0;
    let before = 0;
    for (const { bits, hashes, count } of stages) {
      const rateAt = (keys: number) => (1 - Math.exp((-hashes * keys) / bits)) ** hashes;
      for (let keys = 0; keys < count; ) {
        const rate = 1 - (1 - before) * (1 - rateAt(keys));
        if ((random.bits() >>> 0) / 2 ** 32 < rate) left++;
        else keys++;
      }
      before = 1 - (1 - before) * (1 - rateAt(count));
    }
    sum += left;
    squares += left * left;
  }
  const { inside, missing, variance } = countKeys(stages);
  expect(inside).toBe(2300);
  expectNormal(sum / runs, missing, Math.sqrt(variance / runs), 'mean of the keys left out');
  // The sample variance of a nearly normal count has the relative deviation √(2/runs).
  const sample = squares / runs - (sum / runs) ** 2;
  expectNormal(sample, variance, variance * Math.sqrt(2 / runs), 'variance of the keys left out');
});

test('the interval: nothing below what is in, and certain when empty', () => {
  expect(estimateScalableSize([{ bits: 100, hashes: 3, count: 0 }])).toEqual({
    value: 0,
    low: 0,
    high: 0,
    standardError: 0,
  });
  const one = estimateScalableSize([{ bits: 10_000, hashes: 7, count: 500 }]);
  expect(one.low).toBe(500);
  expect(one.value).toBeGreaterThan(500);
  expect(one.high).toBeGreaterThan(501);
  expect(() => estimateScalableSize([], 1)).toThrow(/confidence/);
});
