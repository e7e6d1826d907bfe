import { expect, test } from 'vitest';
import { RateLimit } from './rate-limit.ts';

test('RateLimit admits a burst and then its rate, for each peer', () => {
  const limit = new RateLimit({ perSecond: 10, burst: 3 });
  const taken = (peer: string, at: number) => limit.take(peer, at);
  expect([0, 0, 0, 0, 99, 100, 100].map((at) => taken('a', at))).toEqual([
    true,
    true,
    true,
    false,
    false,
    true,
    false,
  ]);
  expect(taken('b', 100)).toBe(true);
  expect([0, 0, 0, 0].map(() => taken('a', 10_000))).toEqual([true, true, true, false]);
});
