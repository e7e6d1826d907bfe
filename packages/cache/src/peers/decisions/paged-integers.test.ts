import { expect, test } from 'vitest';
import { PagedIntegers } from './paged-integers.ts';

test('PagedIntegers holds integers across pages, and grows without losing any', () => {
  const integers = new PagedIntegers((length) => new Int32Array(length).fill(-1));
  expect(integers.length).toBe(0);
  for (let i = 0; i < 20_000; i++) {
    integers.cover(i + 1);
    expect(integers.get(i)).toBe(-1);
    integers.set(i, 7 * i);
  }
  for (let i = 0; i < 20_000; i++) expect(integers.get(i)).toBe(7 * i);
  expect(integers.length).toBeLessThan(25_000);
});

test('PagedIntegers keeps integers as the kind of its pages does', () => {
  const integers = new PagedIntegers((length) => new Uint32Array(length));
  integers.cover(1);
  integers.set(0, 2 ** 32 - 1);
  expect(integers.get(0)).toBe(2 ** 32 - 1);
});
