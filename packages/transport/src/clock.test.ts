import { expect, test } from 'vitest';
import { systemClock } from './clock.ts';

test('systemClock runs a timer once, and not before its time', async () => {
  const start = systemClock.monotonic();
  await new Promise<void>((resolve) => systemClock.after(5, resolve));
  // Node's timers have a resolution of 1 ms.
  expect(systemClock.monotonic() - start).toBeGreaterThan(3.9);
});

test('systemClock does not run a timer that was cancelled', async () => {
  let ran = false;
  const cancel = systemClock.after(0, () => (ran = true));
  cancel();
  cancel();
  await new Promise<void>((resolve) => systemClock.after(2, resolve));
  expect(ran).toBe(false);
});

test('systemClock refuses a timer that Node would run at once', () => {
  expect(() => systemClock.after(2 ** 31, () => {})).toThrow(
    'Cannot set a timer: expected at most 2147483647 ms, got 2147483648',
  );
});

test('systemClock tells the time of day, and draws from [0, 1)', () => {
  expect(systemClock.now()).toBeGreaterThan(Date.UTC(2026, 0));
  const drawn = Array.from({ length: 100 }, () => systemClock.random());
  expect(drawn.every((x) => x >= 0 && x < 1)).toBe(true);
  expect(new Set(drawn).size).toBe(100);
});
