import { expect, test } from 'vitest';
import { sliceOf } from './slice-of.ts';

test('sliceOf is the length of a slice, and 0 without slices', () => {
  expect(sliceOf(70, 7, 'partitioned', 'bits')).toBe(10);
  expect(sliceOf(2 ** 36, 4, 'partitioned', 'bits')).toBe(2 ** 34);
  expect(sliceOf(71, 7, 'classic', 'bits')).toBe(0);
});

test('sliceOf refuses an array that does not divide into equal slices', () => {
  expect(() => sliceOf(71, 7, 'partitioned', 'counters')).toThrow(
    new RangeError('Cannot partition counters: expected a multiple of hashes (7), got 71'),
  );
});
