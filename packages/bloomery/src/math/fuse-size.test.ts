import { expect, test } from 'vitest';
import { MOST_FUSE_KEYS, MOST_SEGMENTS } from '../kernel/tables/fuse.ts';
import { fuseShape } from './fuse-size.ts';

const slots = (n: number, attempt = 0) => {
  const { segments, segmentLength } = fuseShape(n, attempt);
  return (segments + 3) * segmentLength;
};

test('known sizes', () => {
  expect([0, 1, 2, 20, 100, 1000].map((n) => slots(n))).toEqual([0, 4, 20, 48, 160, 1360]);
  expect(fuseShape(11_500)).toEqual({ segments: 50, segmentLength: 263 });
  expect(fuseShape(1_000_000)).toEqual({ segments: 181, segmentLength: 5818 });
  expect(fuseShape(10_000_000)).toEqual({ segments: 351, segmentLength: 29_604 });
});

test('slots a key fall towards 1.03 and never jump: a key more costs a few slots at most', () => {
  const jumps: number[] = [];
  for (let n = 2; n < 30_000; n++) {
    // With a segment more or less, the length of all of them is rounded up again.
    const rounding = fuseShape(n).segments + 7 + slots(n) / 100;
    if (Math.abs(slots(n + 1) - slots(n)) > rounding || slots(n) < 1.02 * n) jumps.push(n);
  }
  expect(jumps).toEqual([]);
  const perKey = [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8].map((n) => slots(n) / n);
  for (let i = 1; i < perKey.length; i++) expect(perKey[i]).toBeLessThan(perKey[i - 1]);
  expect(perKey[6]).toBeLessThan(1.04);
});

test('the first three attempts have one size, the next ones 3 % more each', () => {
  for (const n of [2, 100, 1999, 11_500, 1e6]) {
    expect([slots(n, 1), slots(n, 2)]).toEqual([slots(n), slots(n)]);
    expect(slots(n, 6)).toBeGreaterThan(slots(n));
    expect(Math.abs(slots(n, 30) / (slots(n) * 1.03 ** 28) - 1)).toBeLessThan(n < 1000 ? 0.2 : 0.02);
  }
});

test('the largest tables fit the kernel, in every attempt that a large one could need', () => {
  for (const attempt of [0, 10]) {
    const { segments, segmentLength } = fuseShape(MOST_FUSE_KEYS, attempt);
    expect(segments).toBeLessThanOrEqual(MOST_SEGMENTS);
    expect(segmentLength).toBeLessThanOrEqual(MOST_SEGMENTS);
    expect(slots(MOST_FUSE_KEYS, attempt)).toBeLessThan(2 ** 31);
  }
  for (const n of [-1, 1.5, MOST_FUSE_KEYS + 1, Number.NaN])
    expect(() => fuseShape(n)).toThrow(/Cannot use keys: expected/);
});
