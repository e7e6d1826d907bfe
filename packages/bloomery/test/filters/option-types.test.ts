/**
 * Options that exclude each other: the types refuse them together, and so does the run time, which
 * programs in JavaScript meet. `check:types` compiles this file, and an `@ts-expect-error` above a
 * line that compiles is an error.
 */

import { describe, expect, test } from 'vitest';
import {
  BloomierFilter,
  RotatingBloomFilter,
  type RotatingBloomFilterOptions,
  SpectralBloomFilter,
  StaticFilter,
  type StaticFilterOptions,
} from '../../src/index.ts';
import { planSummary, type SummaryRequest } from '../../src/math/index.ts';

const rotating = { capacity: 10, falsePositiveRate: 0.1 };
const summary = { capacity: 1000, changedFraction: 0.01 };
const entries: [string, number][] = [['a', 1]];

describe('options that exclude each other are errors of types and of the run time', () => {
  test.each<[string, () => unknown]>([
    // @ts-expect-error bits or a rate
    ['StaticFilter', () => StaticFilter.from(['a'], { fingerprintBits: 8, falsePositiveRate: 0.1 })],
    [
      'BloomierFilter',
      // @ts-expect-error bits or a rate
      () => BloomierFilter.from(entries, { valueBits: 8, checkBits: 8, falsePositiveRate: 0.1 }),
    ],
    [
      'RotatingBloomFilter, by time and when full',
      // @ts-expect-error a full generation would break the promise of the ttl
      () => new RotatingBloomFilter({ ...rotating, ttlMs: 1000, nowMs: 0, rotateWhenFull: true }),
    ],
    // @ts-expect-error a ttl needs the time
    ['RotatingBloomFilter, ttlMs alone', () => new RotatingBloomFilter({ ...rotating, ttlMs: 1000 })],
    // @ts-expect-error the time is for a ttl
    ['RotatingBloomFilter, nowMs alone', () => new RotatingBloomFilter({ ...rotating, nowMs: 5 })],
    [
      'SpectralBloomFilter, secondary without a method',
      // @ts-expect-error the second array is for recurring minimum
      () => new SpectralBloomFilter({ counters: 64, hashes: 3, secondary: 32 }),
    ],
    [
      'SpectralBloomFilter, secondary with another method',
      () =>
        // @ts-expect-error the second array is for recurring minimum
        new SpectralBloomFilter({ counters: 64, hashes: 3, method: 'minimal-increase', secondary: 32 }),
    ],
    // @ts-expect-error one of the two forms
    ['planSummary without a rate', () => planSummary(summary)],
    // @ts-expect-error per neighbour
    ['planSummary, falseCandidates alone', () => planSummary({ ...summary, falseCandidates: 0.02 })],
    [
      'planSummary, both forms',
      // @ts-expect-error one of the two forms
      () => planSummary({ ...summary, falsePositiveRate: 0.1, falseCandidates: 0.02, neighbours: 4 }),
    ],
  ])('%s', (_, call) => {
    expect(call).toThrow(/^Cannot .*: expected .*, got /);
  });
});

test('correct options compile and work: literals, variables, and options that are passed on', () => {
  const method = ['minimal-increase', 'recurring-minimum'] as const;
  for (const chosen of method) {
    expect(new SpectralBloomFilter({ counters: 64, hashes: 3, method: chosen }).method).toBe(chosen);
  }
  const second = { counters: 64, hashes: 3, method: 'recurring-minimum', secondary: 9 } as const;
  expect(new SpectralBloomFilter(second).secondary).toBe(9);

  const passOn = (options: StaticFilterOptions) => StaticFilter.from(['a'], { ...options, seed: 7 });
  expect(passOn({ falsePositiveRate: 0.1 }).fingerprintBits).toBe(4);
  expect(passOn({ fingerprintBits: 12 }).fingerprintBits).toBe(12);
  expect(passOn({}).fingerprintBits).toBe(8);

  const rotations: RotatingBloomFilterOptions[] = [
    rotating,
    { ...rotating, ttlMs: 1000, nowMs: 0 },
    { ...rotating, ttlMs: 1000, nowMs: 0, rotateWhenFull: false },
    { ...rotating, rotateWhenFull: Math.max(0, 1) === 1 },
  ];
  expect(rotations.map((options) => new RotatingBloomFilter(options).rotation)).toEqual([
    'by-hand',
    'by-time',
    'by-time',
    'when-full',
  ]);

  const requests: SummaryRequest[] = [
    { ...summary, falsePositiveRate: 0.01 },
    { ...summary, falseCandidates: 0.04, neighbours: 4 },
  ];
  expect(requests.map((request) => planSummary(request).falsePositiveRate)).toEqual([0.01, 0.01]);
});
