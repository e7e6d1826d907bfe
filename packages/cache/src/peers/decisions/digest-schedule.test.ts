import { expect, test } from 'vitest';
import { nextDigestMs, retryDigestMs } from './digest-schedule.ts';

test('nextDigestMs is never sooner than Expires, and between a minute and a day', () => {
  expect(nextDigestMs(3_600_000, 0)).toBe(3_600_000);
  expect(nextDigestMs(3_600_000, 0.999_999)).toBeLessThanOrEqual(1.1 * 3_600_000);
  expect(nextDigestMs(3_600_000, 0.5)).toBe(1.05 * 3_600_000);
  for (const expires of [null, -5, 0, 59_000]) expect(nextDigestMs(expires, 0)).toBe(60_000);
  expect(nextDigestMs(1e15, 0)).toBe(86_400_000);
});

test('retryDigestMs doubles from 15 s to 10 minutes', () => {
  const waits = [1, 2, 3, 6, 7, 100, 5000].map((failures) => retryDigestMs(failures, 0));
  expect(waits).toEqual([15_000, 30_000, 60_000, 480_000, 600_000, 600_000, 600_000]);
  expect(retryDigestMs(1, 0.5)).toBe(15_750);
});
