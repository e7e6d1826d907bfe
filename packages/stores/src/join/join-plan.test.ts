import { expectBinomial, expectNormal, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { type JoinFacts, matchShareOf, planJoin, preciseSlice, sliceBitsLog2 } from './join-plan.ts';

const certain = (value: number) => ({ value, low: value, high: value, standardError: 0 });
const FACTS: JoinFacts = {
  nearKeys: 1_000_000,
  keyBytes: 28,
  farRows: 10_000_000,
  rowBytes: 79,
  matchShare: certain(0.02),
  sliceBytes: 131_072,
};

describe('planJoin', () => {
  test('the best rate is 0.26·n / (N(1-a)c), and the filter is near to it', () => {
    const plan = planJoin(FACTS);
    expect(plan.way).toBe('filter');
    const { nearKeys, farRows, rowBytes } = FACTS;
    const formula = nearKeys / (8 * Math.LN2 ** 2) / (farRows * 0.98 * rowBytes);
    expect(plan.bestRate / formula).toBeCloseTo(1, 14); // a few roundings of a double
    // A filter of any size that has this rate costs at most 1 % less than the power of two.
    const free =
      FACTS.sliceBytes +
      (nearKeys * Math.log(1 / formula)) / (8 * Math.LN2 ** 2) +
      farRows * (0.02 + 0.98 * formula) * rowBytes;
    expect(plan.bytes.filter / free).toBeLessThan(1.02);
    expect(plan.bytes.filter).toBeGreaterThan(0.99 * free);
  });

  test('no filter of another size or number of hashes would move 1 % less', () => {
    for (const matchShare of [0, 0.02, 0.3]) {
      const plan = planJoin({ ...FACTS, matchShare: certain(matchShare) });
      const { nearKeys, farRows, rowBytes, sliceBytes } = FACTS;
      for (let bitsLog2 = 10; bitsLog2 < 30; bitsLog2++) {
        for (let hashes = 1; hashes < 30; hashes++) {
          const rate = (1 - Math.exp((-hashes * nearKeys) / 2 ** bitsLog2)) ** hashes;
          const bytes =
            sliceBytes + 2 ** (bitsLog2 - 3) + farRows * rowBytes * (matchShare + (1 - matchShare) * rate);
          expect(plan.bytes.filter).toBeLessThan(1.011 * bytes);
        }
      }
    }
  });

  test('a join in which most rows match is given up, and says why', () => {
    const plan = planJoin({ ...FACTS, matchShare: certain(0.7) });
    expect([plan.way, plan.reason]).toEqual(['all', expect.stringMatching(/^most rows match/)]);
  });

  test('short keys are sent themselves, and a small gain is said', () => {
    const short = planJoin({ ...FACTS, nearKeys: 1000, keyBytes: 2 });
    expect([short.way, short.reason]).toEqual(['keys', expect.stringMatching(/^the keys are short or few/)]);
    const small = planJoin({ ...FACTS, keyBytes: 6, farRows: 9_000_000 });
    expect(small.way).toBe('filter');
    expect(small.reason).toMatch(/compared with the keys the gain is small$/);
  });

  test('keys that do not fit into one parameter are not sent', () => {
    const many = { ...FACTS, nearKeys: 2e8, keyBytes: 2, farRows: 4e9, sliceBytes: 0 };
    expect(planJoin(many).way).toBe('filter');
  });

  test('tables without rows have a plan', () => {
    for (const facts of [
      { ...FACTS, nearKeys: 0, keyBytes: 0 },
      { ...FACTS, farRows: 0, matchShare: certain(0) },
    ]) {
      const { bytes } = planJoin(facts);
      expect(Object.values(bytes).every(Number.isFinite)).toBe(true);
    }
  });
});

test('sliceBitsLog2 is at most 180 kB for each million keys', () => {
  for (const keys of [0, 1, 50, 1000, 99_999, 1_000_000, 30_000_000]) {
    const bytes = 2 ** sliceBitsLog2(keys) / 8;
    expect(bytes).toBeLessThanOrEqual(Math.max(8, 0.1804 * keys));
  }
});

describe('matchShareOf', () => {
  test('the standard error is that of experiments, with duplicates and in samples of blocks', () => {
    const random = new Random(77);
    const rate = 0.5;
    for (const { rowsPerKey, share } of [
      { rowsPerKey: 1, share: 1 },
      { rowsPerKey: 20, share: 1 },
      { rowsPerKey: 1, share: 0.25 },
    ]) {
      const truth = 0.1;
      let inside = 0;
      const ROUNDS = 400;
      for (let round = 0; round < ROUNDS; round++) {
        // Blocks of 20 rows. Either all rows of a block match or none, which is the worst case.
        const blocks = 320;
        const groups = Array.from({ length: 32 }, () => ({ rows: 0, passed: 0 }));
        for (let block = 0; block < blocks; block++) {
          const isMatch = block < truth * blocks;
          const isSampled = random.below(1000) < 1000 * share;
          const together = random.below(2) === 0;
          for (let row = 0; row < 20 && isSampled; row++) {
            const passes = rowsPerKey === 1 ? random.below(2) === 0 : together;
            groups[block % 32].rows++;
            if (isMatch || passes) groups[block % 32].passed++;
          }
        }
        const rows = groups.reduce((sum, group) => sum + group.rows, 0) / share;
        const passed = groups.reduce((sum, group) => sum + group.passed, 0) / share;
        const count = share === 1 ? { rows, passed } : { rows, passed, sample: { share, groups } };
        const { value, standardError } = matchShareOf(count, { rate, rowsPerKey });
        // Matches are what a plan needs, so the error of the number of rows counts as well.
        const matches = value * rows;
        if (Math.abs(matches - truth * blocks * 20) <= 1.96 * standardError * rows) inside++;
      }
      // Intervals of 95 %; those from 32 groups hold a little less.
      if (share === 1) expectBinomial(inside, ROUNDS, 0.95, `intervals with ${rowsPerKey} rows per key`);
      else expect(inside / ROUNDS).toBeGreaterThan(0.88);
    }
  });

  test('a slice that lets everything pass says nothing', () => {
    expect(matchShareOf({ rows: 10, passed: 10 }, { rate: 1 })).toMatchObject({ low: 0, high: 1 });
    expect(matchShareOf({ rows: 0, passed: 0 }, { rate: 0.5 }).value).toBe(0);
  });
});

test('preciseSlice is the smallest one that is precise enough', () => {
  const matchShare = matchShareOf({ rows: 10_000_000, passed: 5_100_000 }, { rate: 0.5 });
  const plan = planJoin({ ...FACTS, matchShare });
  expect(preciseSlice(plan, 1)).toBeNull();
  const slice = preciseSlice(plan, 0.002)!;
  const rate = (bitsLog2: number, hashes: number) =>
    (1 - Math.exp((-hashes * FACTS.nearKeys) / 2 ** bitsLog2)) ** hashes;
  const error = (one: { bitsLog2: number; hashes: number }) => {
    const p = rate(one.bitsLog2, one.hashes);
    return (Math.sqrt((9_800_000 * p) / (1 - p)) * plan.rowBytes) / plan.bytes.filter;
  };
  expect(error(slice)).toBeLessThan(0.0021);
  expect(error({ bitsLog2: slice.bitsLog2 - 1, hashes: slice.hashes })).toBeGreaterThan(0.002);
  expectNormal(plan.matches.value, 200_000, plan.matches.standardError, 'matches');
});
