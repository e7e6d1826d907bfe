import { expect, test } from 'vitest';
import { SleepClock } from './sleep-clock.ts';

test('SleepClock adds the sleep of the machine, and never goes back', () => {
  let steady = 1000;
  let wall = 1_700_000_000_000;
  const clock = new SleepClock(
    () => steady,
    () => wall,
  );
  const pass = (steadyMs: number, wallMs: number) => {
    steady += steadyMs;
    wall += wallMs;
    return clock.now();
  };
  expect(clock.now()).toBe(1000);
  expect(pass(50, 50)).toBe(1050);
  // Asleep for an hour.
  expect(pass(10, 3_600_010)).toBe(3_601_060);
  expect(pass(10, 10)).toBe(3_601_070);
  // The wall clock is set back, and the machine sleeps once more.
  expect(pass(10, -7_200_000)).toBe(3_601_080);
  expect(pass(10, 5010)).toBe(3_606_090);
});

test('SleepClock takes the rounding of a wall clock for no sleep', () => {
  let steady = 0;
  const clock = new SleepClock(
    () => steady,
    () => Math.floor(steady) + 1_700_000_000_000,
  );
  for (let i = 0; i < 10_000; i++) {
    steady += 0.37;
    expect(clock.now()).toBe(steady);
  }
});
