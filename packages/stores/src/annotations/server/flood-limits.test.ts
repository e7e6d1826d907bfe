import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { FloodLimit, floodKey } from './flood-limits.ts';

test('a bucket lets a burst pass, and then the rate, as a model says', () => {
  const random = new Random(1);
  const limit = new FloodLimit({ burst: 5, perSecond: 2 });
  let [tokens, nowMs] = [5, 0];
  for (let i = 0; i < 3000; i++) {
    // Quarters of a second, so that the arithmetic of both is exact.
    const step = 250 * random.below(4);
    nowMs += step;
    tokens = Math.min(5, tokens + step * 0.002);
    const waitS = limit.take('a', nowMs);
    if (tokens >= 1) {
      expect(waitS).toBe(0);
      tokens--;
    } else {
      expect(waitS).toBeGreaterThan(0);
      expect(limit.waitS('a', nowMs)).toBe(waitS);
    }
  }
});

test('buckets are apart, and a clock that goes back takes nothing away', () => {
  const limit = new FloodLimit({ burst: 1, perSecond: 1 });
  expect([limit.take('a', 5000), limit.take('b', 5000), limit.take('a', 1000)]).toEqual([0, 0, 1]);
  expect(limit.take('a', 2000)).toBe(0);
});

test('the bucket that was used least recently is forgotten first', () => {
  const limit = new FloodLimit({ burst: 1, perSecond: 0.001, mostKeys: 3 });
  for (const key of ['a', 'b', 'c', 'a', 'd']) limit.take(key, 0);
  expect(limit.size).toBe(3);
  expect(limit.take('a', 0)).toBeGreaterThan(0);
  expect(limit.take('b', 0)).toBe(0);
});

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('floodKey of %s is %s', (address, key) => {
  expect(floodKey(address)).toBe(key);
});
