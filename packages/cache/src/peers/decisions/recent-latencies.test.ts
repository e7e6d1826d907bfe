import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { RecentLatencies } from './recent-latencies.ts';

test('quantiles are those of the last 64 times, at any number of times', () => {
  const random = new Random(1);
  const latencies = new RecentLatencies();
  const all: number[] = [];
  for (let i = 0; i < 1000; i++) {
    // Few distinct values, so that equal times meet in the window.
    const ms = random.below(20);
    latencies.add(ms);
    all.push(ms);
    const window = all.slice(-64).sort((a, b) => a - b);
    expect(latencies.count).toBe(window.length);
    for (const share of [0, 0.01, 0.5, 0.95, 1]) {
      expect(latencies.quantileMs(share)).toBe(window[Math.max(0, Math.ceil(share * window.length) - 1)]);
    }
  }
});

test('the average begins with the first time and follows a change', () => {
  const latencies = new RecentLatencies();
  expect([latencies.averageMs, latencies.quantileMs(0.5)]).toEqual([0, 0]);
  latencies.add(80);
  expect(latencies.averageMs).toBe(80);
  latencies.add(0);
  expect(latencies.averageMs).toBe(70);
  for (let i = 0; i < 40; i++) latencies.add(8);
  expect(latencies.averageMs).toBeLessThan(8.5);
});

test('a time that is no number of milliseconds is refused', () => {
  for (const ms of [-1, NaN, Infinity])
    expect(() => new RecentLatencies().add(ms)).toThrow(
      `Cannot note a latency: expected 0 or more milliseconds, got ${ms}`,
    );
});
