/**
 * The order of eviction: approximately the least recently used first, each entry once, and without
 * a scan for each.
 */

import { expect, test } from 'vitest';
import { EntryIndex } from './entry-index.ts';

function filled(count: number): EntryIndex {
  const index = new EntryIndex();
  for (let id = 1; id <= count; id++) {
    const low = Math.imul(id, 2654435761) >>> 0;
    index.put({ id, low, high: id, pack: 1, offset: 0, recordBytes: 100, body: 0, recency: id });
  }
  return index;
}

const recencies = (index: EntryIndex) => [...index.victims()].map((slot) => index.recency[slot]!);

test('of few slots, in the exact order of use', () => {
  const index = filled(60);
  index.delete(7);
  index.touch(0);
  const expected = Array.from({ length: 60 }, (_, i) => i + 1).filter((i) => i !== 1 && i !== 8);
  expect(recencies(index)).toEqual([...expected, 61]);
});

test.each([
  ['dense', 1],
  ['sparse', 50],
])('%s: each entry once, the old ones first', (_, every) => {
  const index = filled(20_000);
  for (let slot = 0; slot < 20_000; slot++) if (slot % every !== 0) index.delete(slot);
  const order = recencies(index);
  expect(new Set(order).size).toBe(index.count);
  expect(order).toHaveLength(index.count);
  // The least of 16 lies at 1/17 on average, so the mean of the first tenth is below a quarter of
  // the whole.
  const first = order.slice(0, order.length / 10);
  expect(first.reduce((sum, recency) => sum + recency, 0) / first.length).toBeLessThan(5_000);
});

test('a thousand entries in a million slots are looked through once, not for each victim', () => {
  const index = filled(1_000_000);
  for (let slot = 0; slot < 1_000_000; slot++) if (slot % 1000 !== 0) index.delete(slot);
  let looks = 0;
  const { used } = index;
  index.used = (slot) => {
    looks++;
    return used.call(index, slot);
  };
  let victims = 0;
  for (const _ of index.victims()) if (++victims === 512) break;
  expect(victims).toBe(512);
  expect(looks).toBeLessThan(1_100_000);
});
