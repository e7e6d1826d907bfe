import { expect, test } from 'vitest';
import { NameNumbers } from './name-numbers.ts';

test('NameNumbers gives equal names one number, and others the next, in any script', () => {
  const numbers = new NameNumbers('objects');
  const names = ['/a', '/\u00e9', '/\u4e2d', '/\u4e2e', '/\ud800', '/\ud801', '/a', '/\u4e2d', '/\ud801'];
  expect(names.map((name) => numbers.numberOf(name))).toEqual([0, 1, 2, 3, 4, 5, 0, 2, 5]);
  expect(numbers.count).toBe(6);
});
