import { expect, test } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

test('VirtualClock runs timers by time, then by the order in which they were set', async () => {
  const clock = new VirtualClock({ now: 1000 });
  const ran: string[] = [];
  clock.after(20, () => ran.push(`late ${clock.now()}`));
  clock.after(10, () => ran.push(`first ${clock.now()}`));
  clock.after(10, () => ran.push(`second ${clock.monotonic()}`));
  const cancel = clock.after(15, () => ran.push('never'));
  cancel();
  await clock.advance(9);
  expect(ran).toEqual([]);
  await clock.advance(100);
  expect(ran).toEqual(['first 1010', 'second 10', 'late 1020']);
  expect([clock.now(), clock.pending]).toEqual([1109, 0]);
});

test('VirtualClock runs timers that a timer or an awaited promise sets', async () => {
  const clock = new VirtualClock();
  const ran: number[] = [];
  const tick = async () => {
    ran.push(clock.monotonic());
    await null;
    clock.after(10, tick);
  };
  clock.after(10, tick);
  await clock.advance(35);
  expect(ran).toEqual([10, 20, 30]);
});

test('VirtualClock draws the same numbers for the same seed', () => {
  const draw = (seed: number) => {
    const clock = new VirtualClock({ seed });
    return [clock.random(), clock.random(), clock.random()];
  };
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
  for (const number of draw(9)) expect(number >= 0 && number < 1).toBe(true);
});
