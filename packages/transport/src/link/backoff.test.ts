import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { Backoff } from './backoff.ts';

test('Backoff doubles its pauses up to the longest, and begins again after a success', () => {
  const clock = new VirtualClock();
  clock.random = () => 0;
  const backoff = new Backoff(clock);
  const pauses = Array.from({ length: 8 }, () => backoff.nextMs());
  expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  backoff.reset();
  expect(backoff.nextMs()).toBe(250);
});

test('Backoff shortens each pause by up to a half, so that nodes spread out', () => {
  const clock = new VirtualClock();
  const pauses = Array.from({ length: 200 }, () => new Backoff(clock, { firstMs: 1000 }).nextMs());
  expect(Math.min(...pauses)).toBeGreaterThan(500);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(1000);
  expect(new Set(pauses).size).toBe(200);
});
