import { describe, expect, test } from 'vitest';
import { planTable } from './plan-table.ts';
import { sizeClassic } from './size-classic.ts';
import { rateTrue } from './true-rate.ts';

describe('planTable', () => {
  test.each([1, 4, 64, 256, 1024])(
    'keeps 0.02 false candidates with %i columns, and hardly less',
    (columns) => {
      for (const keysPerColumn of [1, 20, 1000, 100_000]) {
        const plan = planTable({ columns, keysPerColumn });
        expect(plan.met).toBe(true);
        expect(plan.falseCandidates).toBeLessThanOrEqual(0.02);
        expect(plan.falseCandidates).toBe(columns * rateTrue(plan.rows, plan.hashes, keysPerColumn));
        expect(plan.rows % 16).toBe(0);
        expect(plan.hashes).toBeLessThanOrEqual(8);
        // The rows are rounded up to a multiple of 16; with one step less the request is not met.
        if (plan.rows === 16) continue;
        expect(columns * rateTrue(plan.rows - 16, plan.hashes, keysPerColumn)).toBeGreaterThan(0.02);
      }
    },
  );

  test('has the figures of its essay: 21.8 bits and 70 MB at 256 columns of 100,000 keys', () => {
    const request = { columns: 256, keysPerColumn: 100_000 };
    const plan = planTable(request);
    expect([plan.hashes, plan.bitsPerKey.toFixed(1), plan.memoryBytes]).toEqual([8, '21.8', 69_912_128]);
    const free = planTable({ ...request, maxHashes: 255 });
    expect([free.hashes, free.bitsPerKey.toFixed(1)]).toEqual([14, '19.7']);
    expect(planTable({ ...request, maxHashes: 4 }).bitsPerKey.toFixed(1)).toBe('40.5');
    const [first, second] = plan.folded;
    expect((first.falseCandidates / plan.falseCandidates).toFixed(0)).toBe('68');
    expect((second.falseCandidates / first.falseCandidates).toFixed(0)).toBe('23');
    // 256 filters of table VI's m/n = 12, k = 3.
    expect((256 * rateTrue(1_200_000, 3, 100_000)).toFixed(1)).toBe('2.8');
  });

  test('takes the rows and hashes of the classic filter with the rate of one column', () => {
    const { rows, hashes } = planTable({ columns: 64, keysPerColumn: 5000, falseCandidates: 0.5, folds: 0 });
    const size = sizeClassic({ capacity: 5000, falsePositiveRate: 0.5 / 64, maxHashes: 8 });
    expect([rows, hashes]).toEqual([size.bits, size.hashes]);
  });

  test('makes the best of too little memory, and says so', () => {
    const request = { columns: 256, keysPerColumn: 100_000 };
    for (const memoryBytes of [5_000_000, 20_000_000, 64_000_000]) {
      const plan = planTable({ ...request, memoryBytes });
      expect(plan.met).toBe(false);
      expect(plan.memoryBytes).toBeLessThanOrEqual(memoryBytes);
      expect(plan.memoryBytes).toBeGreaterThan(0.999 * memoryBytes);
      expect(plan.falseCandidates).toBeGreaterThan(0.02);
      for (let k = 1; k <= 8; k++) {
        expect(256 * rateTrue(plan.rows, k, 100_000)).toBeGreaterThanOrEqual(plan.falseCandidates);
      }
    }
    const enough = planTable({ ...request, memoryBytes: 128_000_000 });
    expect(enough).toEqual(planTable(request));
  });

  test('tells what each fold costs', () => {
    const plan = planTable({ columns: 40, keysPerColumn: 1000, folds: 3 });
    expect(plan.folded.map(({ rows }) => rows)).toEqual([plan.rows / 2, plan.rows / 4, plan.rows / 8]);
    for (const size of plan.folded) {
      expect(size.falsePositiveRate).toBe(rateTrue(size.rows, plan.hashes, 1000));
      expect(size.falseCandidates).toBe(40 * size.falsePositiveRate);
      expect(size.memoryBytes).toBe(8 * (size.rows + 2));
    }
  });

  test('refuses requests that no table can keep, and misspelt fields', () => {
    const request = { columns: 4, keysPerColumn: 10 };
    expect(() => planTable({ ...request, columns: 0 })).toThrow('Cannot use columns: expected an integer');
    expect(() => planTable({ ...request, falseCandidates: 0 })).toThrow(
      'Cannot use falseCandidates: expected a number',
    );
    expect(() => planTable({ ...request, falseCandidates: 3 })).toThrow(
      'Cannot use falseCandidates: expected a number',
    );
    expect(() => planTable({ ...request, memoryBytes: 5 })).toThrow(
      'Cannot plan a table: expected at least 9 memoryBytes, got 5',
    );
    const misspelt = { ...request, falseCandidate: 0.01 };
    expect(() => planTable(misspelt)).toThrow("got field 'falseCandidate'");
  });
});
