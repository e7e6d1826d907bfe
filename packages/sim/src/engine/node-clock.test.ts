import { expect, test } from 'vitest';
import { Simulation } from './simulation.ts';

const START_MS = 1_000_000;

function lab() {
  const simulation = new Simulation({ seed: 1, startMs: START_MS });
  const clock = simulation.clockOf('a');
  const ran: number[] = [];
  return { simulation, clock, ran, note: () => void ran.push(simulation.elapsedMs) };
}

test('NodeClock tells the time of the simulation, and runs timers by it', async () => {
  const { simulation, clock, ran, note } = lab();
  clock.after(10, note);
  clock.after(-5, note);
  clock.after(20, note)();
  await simulation.run({ untilMs: 50 });
  expect(ran).toEqual([0, 10]);
  expect([clock.now(), clock.monotonic()]).toEqual([START_MS + 50, 50]);
});

test('NodeClock with skew is off by the offset, and runs fast by the drift from then on', async () => {
  const { simulation, clock, ran, note } = lab();
  await simulation.run({ untilMs: 1000 });
  clock.setSkew({ offsetMs: -200, drift: 0.25 });
  expect([clock.now(), clock.monotonic()]).toEqual([START_MS + 800, 1000]);
  // A fast clock reaches the end of a timer earlier, by true time.
  clock.after(1000, note);
  await simulation.run({ untilMs: 3000 });
  expect(ran).toEqual([1800]);
  expect([clock.now(), clock.monotonic()]).toEqual([START_MS + 3300, 3500]);
  clock.setSkew({});
  expect([clock.now(), clock.monotonic()]).toEqual([START_MS + 3500, 3500]);
});

test('NodeClock of a slow node is right, and its timers are late by the factor', async () => {
  const { simulation, clock, ran, note } = lab();
  clock.setSlowness(3);
  clock.after(100, note);
  simulation.clockOf('b').after(100, note);
  await simulation.run();
  expect(ran).toEqual([100, 300]);
  expect(clock.monotonic()).toBe(300);
});

test('NodeClock refuses skew and slowness that no clock has', () => {
  const { clock } = lab();
  expect(() => clock.setSkew({ drift: -1 })).toThrow(
    'Cannot set a clock: expected a finite offset and a drift above -1, got 0 ms and -1',
  );
  expect(() => clock.setSkew({ offsetMs: NaN })).toThrow(RangeError);
  expect(() => clock.setSlowness(0.5)).toThrow(
    'Cannot slow a node: expected a factor of at least 1, got 0.5',
  );
});
