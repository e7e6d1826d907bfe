import { expect, test } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

test('TokenBucket lets a sender that waits as told reach the rate, and no more', () => {
  const bucket = new TokenBucket(1_000_000, 20);
  let now = 0;
  for (let sent = 0; sent < 1_000_000; sent += 10_000) now += bucket.reserve(10_000, now);
  // 10 ms a piece: the first piece starts at once, and a burst of 20 ms is two pieces more.
  expect(now).toBe(970);
});

test('TokenBucket makes up for timers that fire late', () => {
  const bucket = new TokenBucket(1_000_000, 20);
  let now = 0;
  for (let sent = 0; sent < 1_000_000; sent += 10_000) now += bucket.reserve(10_000, now) + 2;
  expect(now).toBeLessThan(1010);
});

test('TokenBucket does not save an idle time for later', () => {
  const bucket = new TokenBucket(1_000_000, 20);
  bucket.reserve(1000, 0);
  let now = 60_000;
  for (let sent = 0; sent < 100_000; sent += 10_000) now += bucket.reserve(10_000, now);
  expect(now).toBe(60_070);
});

test('TokenBucket gives two senders half of the rate each', () => {
  const bucket = new TokenBucket(1_000_000, 0);
  const waits = Array.from({ length: 6 }, () => bucket.reserve(10_000, 0));
  expect(waits).toEqual([0, 10, 20, 30, 40, 50]);
});

test('TokenBucket refuses a rate of nothing', () => {
  expect(() => new TokenBucket(0)).toThrow('Cannot limit bytes per second');
});
