import { Random } from '@bloomery/testkit/statistics';
import { BloomFilter } from 'bloomery';
import { expect, test } from 'vitest';
import { CompositeWhitelist } from './composite-whitelist.ts';
import { keyedFilter, sharedKey } from './keyed-filter.ts';

const key = sharedKey(new Random(243).bytes(16), 'the list');
const bookOf = (member: number) =>
  Array.from({ length: 50 }, (_, i) => `a${(member * 40 + i) % 400}@example.org`);

test('CompositeWhitelist equals the filter of the union, with the addresses of every member', () => {
  const list = new CompositeWhitelist({ capacity: 400, key });
  const union = list.emptyFilter();
  for (let member = 0; member < 10; member++) {
    const filter = list.emptyFilter();
    filter.addMany(bookOf(member));
    list.add(filter);
    union.addMany(bookOf(member));
  }
  expect(list.members).toBe(10);
  expect(list.toFilter().equals(union)).toBe(true);
  expect(bookOf(7).every((address) => list.has(address))).toBe(true);
  expect(list.has('stranger@example.org')).toBe(false);
});

test('CompositeWhitelist refuses filters of another shape, and more keys than it is made for', () => {
  const list = new CompositeWhitelist({ capacity: 100, key });
  expect(() => list.add(keyedFilter(['a'], { secret: new Uint8Array(16), from: 'x' }))).toThrow(/Cannot/);
  const filter = list.emptyFilter();
  filter.addMany(Array.from({ length: 1000 }, (_, i) => `b${i}`));
  expect(() => list.add(filter)).toThrow(expect.objectContaining({ name: 'SharingError', code: 'overfull' }));
  expect([list.members, list.has('b1')]).toEqual([0, false]);
});

test('a copy of the whitelist does not change it', () => {
  const list = new CompositeWhitelist({ capacity: 100 });
  list.toFilter().add('a');
  expect(list.has('a')).toBe(false);
  expect(list.toFilter()).toBeInstanceOf(BloomFilter);
});
