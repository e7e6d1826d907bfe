import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { BUSY, BusyObjects } from './busy-objects.ts';

test('BusyObjects lists every object above its threshold, with bounds around the true count', () => {
  const random = new Random(5);
  const busy = new BusyObjects(() => 1000);
  const truth = new Map<string, number>();
  // Ten objects of 1 % each, and a long tail.
  for (let i = 0; i < 50_000; i++) {
    const heavy = random.below(100);
    const key = `http://o/${heavy < 10 ? heavy : `tail-${random.below(20_000)}`}`;
    truth.set(key, (truth.get(key) ?? 0) + 1);
    busy.add(key, 1000);
  }
  const { since, total, keys } = busy.list();
  expect([since, total]).toEqual([1000, 50_000]);
  expect(keys.map(({ key }) => key).sort()).toEqual(Array.from({ length: 10 }, (_, i) => `http://o/${i}`));
  for (const { key, count, atLeast } of keys) {
    expect(count).toBeGreaterThanOrEqual(truth.get(key)!);
    expect(atLeast).toBeLessThanOrEqual(truth.get(key)!);
    expect(count - truth.get(key)!).toBeLessThanOrEqual(BUSY.epsilon * total);
  }
  const counts = keys.map(({ count }) => count);
  expect(counts).toEqual([...counts].sort((a, b) => b - a));
});

test('BusyObjects counts the last full hour and the running one, and no earlier ones', () => {
  const time = { now: 0 };
  const busy = new BusyObjects(() => time.now);
  const hour = 3_600_000;
  const addAt = (now: number, key: string) => {
    time.now = now;
    for (let i = 0; i < 600; i++) busy.add(key, now);
    return busy.list();
  };
  expect(addAt(10, 'a')).toMatchObject({ since: 0, total: 600 });
  const second = addAt(hour + 5, 'b');
  expect([second.total, second.keys.map(({ key }) => key).sort()]).toEqual([1200, ['a', 'b']]);
  const third = addAt(2 * hour + 10, 'c');
  expect(third.keys.map(({ key }) => key).sort()).toEqual(['b', 'c']);
  expect(third.since).toBeLessThanOrEqual(hour + 10);
  // After a night without requests, yesterday is over.
  expect(addAt(20 * hour, 'd').keys.map(({ key }) => key)).toEqual(['d']);
});

test('BusyObjects counts an answer in its own hour, also if few come', () => {
  const hour = 3_600_000;
  const time = { now: 0 };
  const busy = new BusyObjects(() => time.now);
  for (let i = 0; i < 100; i++) busy.add('yesterday', i);
  time.now = 20 * hour;
  expect(busy.list()).toMatchObject({ since: 20 * hour, total: 0, keys: [] });
  busy.add('now', 20 * hour + 5);
  for (let i = 0; i < 3; i++) busy.add('later', 21 * hour + 5);
  time.now = 21 * hour + 6;
  expect(busy.list()).toMatchObject({ since: 20 * hour, total: 4 });
  // A day later a request comes before a console is opened.
  busy.add('next day', 45 * hour);
  time.now = 45 * hour + 1;
  expect(busy.list()).toMatchObject({ since: 45 * hour, total: 1, keys: [{ key: 'next day' }] });
  // The clock is set back.
  time.now = 44 * hour;
  expect(busy.list()).toMatchObject({ since: 44 * hour, total: 0 });
});

test('BusyObjects keeps the beginning of a long key', () => {
  const busy = new BusyObjects(() => 0);
  busy.add(`http://o/${'x'.repeat(100_000)}`, 0);
  expect(busy.list().keys[0]!.key).toHaveLength(2000);
});
