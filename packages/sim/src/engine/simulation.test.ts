import { expect, test } from 'vitest';
import { SimulationError } from '../simulation-error.ts';
import { Simulation } from './simulation.ts';

/** Runs nodes that set random timers, half of them after an await. Returns the simulation. */
async function busyRun(seed: number, ids: string[], untilMs = 5000): Promise<Simulation> {
  const simulation = new Simulation({ seed });
  for (const id of ids) {
    const clock = simulation.clockOf(id);
    const step = async () => {
      if (clock.random() < 0.5) await null;
      clock.after(clock.random() * 100, step);
    };
    clock.after(0, step);
  }
  await simulation.run({ untilMs });
  return simulation;
}

test('Simulation runs events by time, those of one time in the order in which they were set', async () => {
  const simulation = new Simulation({ seed: 1 });
  const ran: string[] = [];
  simulation.after(20, () => ran.push('late'));
  simulation.clockOf('a').after(10, () => ran.push('first'));
  simulation.clockOf('b').after(10, () => ran.push('second'));
  expect(simulation.pending).toBe(3);
  expect(await simulation.run({ untilMs: 9 })).toBe('time');
  expect([ran, simulation.elapsedMs]).toEqual([[], 9]);
  expect(await simulation.run({ events: 1 })).toBe('events');
  expect(ran).toEqual(['first']);
  expect(await simulation.run()).toBe('idle');
  expect(ran).toEqual(['first', 'second', 'late']);
  expect([simulation.elapsedMs, simulation.eventCount, simulation.pending]).toEqual([20, 3, 0]);
});

test('Simulation settles all promises of an event before the next one, however long the chain is', async () => {
  const simulation = new Simulation({ seed: 1 });
  const clock = simulation.clockOf('a');
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  clock.after(1, async () => {
    for (let i = 0; i < 50; i++) await null;
    told.push('chain');
  });
  clock.after(1, async () => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    await null;
    told.push(`woken at ${simulation.elapsedMs}`);
  });
  // This event makes no promise. It settles one of an earlier event.
  clock.after(2, () => waiting[0]());
  clock.after(2, () => void told.push('after'));
  clock.after(3, () => queueMicrotask(() => queueMicrotask(() => void told.push('queued'))));
  clock.after(3, () => void told.push('last'));
  await simulation.run();
  expect(told).toEqual(['chain', 'woken at 2', 'after', 'queued', 'last']);
});

test('Simulation goes the same way for the same seed, and another way for another', async () => {
  const ids = ['a', 'b', 'c'];
  const [first, again, other] = [await busyRun(5, ids), await busyRun(5, ids), await busyRun(6, ids)];
  expect(first.eventCount).toBeGreaterThan(250);
  expect([again.hash, again.eventCount]).toEqual([first.hash, first.eventCount]);
  expect(other.hash).not.toBe(first.hash);
});

test('Simulation goes the same way however a run is cut into pieces', async () => {
  const whole = await busyRun(5, ['a', 'b']);
  const pieces = await busyRun(5, ['a', 'b'], 0);
  while (pieces.elapsedMs < 4000) await pieces.run({ events: 7 });
  for (let ms = Math.ceil(pieces.elapsedMs); ms <= 5000; ms++) await pieces.run({ untilMs: ms });
  expect([pieces.hash, pieces.eventCount]).toEqual([whole.hash, whole.eventCount]);
});

test('Simulation does not shift the randomness of other nodes when one is added', async () => {
  const drawn = async (ids: string[]) => {
    const simulation = await busyRun(9, ids);
    return [simulation.clockOf('b').random(), simulation.random('load')()];
  };
  expect(await drawn(['a', 'b', 'c'])).toEqual(await drawn(['b']));
});

test('Simulation names the event, its seed and its node when it fails, and can be run on', async () => {
  const simulation = new Simulation({ seed: 8 });
  const cause = new Error('no');
  let ran = 0;
  simulation.after(1, () => {});
  simulation.clockOf('a').after(2, () => {
    throw cause;
  });
  simulation.after(3, () => void ran++);
  const error = await simulation.run().catch((error: unknown) => error);
  expect(error).toBeInstanceOf(SimulationError);
  expect(error).toMatchObject({
    code: 'event',
    cause,
    message: 'Cannot run event 2: expected a timer of a without an error, got Error: no (seed 8, 2 ms)',
  });
  expect(await simulation.run()).toBe('idle');
  expect(ran).toBe(1);
});

test('Simulation ends an event whose promises never come to an end', async () => {
  const simulation = new Simulation({ seed: 1 });
  let isOver = false;
  simulation.after(0, async () => {
    while (!isOver) await null;
  });
  await expect(simulation.run()).rejects.toMatchObject({ code: 'endless' });
  isOver = true;
});

test('Simulation stops the timers of a node, and its next program has a clock and randomness of its own', async () => {
  const simulation = new Simulation({ seed: 3 });
  const [first, other] = [simulation.clockOf('a'), simulation.clockOf('b')];
  const ran: string[] = [];
  first.setSkew({ offsetMs: 5 });
  first.after(10, () => ran.push('a, before'));
  other.after(10, () => ran.push('b'));
  simulation.stop('a');
  first.after(10, () => ran.push('a, dead'));
  const second = simulation.clockOf('a');
  expect(second.now()).toBe(first.now());
  expect(second.random()).not.toBe(new Simulation({ seed: 3 }).clockOf('a').random());
  second.after(10, () => ran.push('a, again'));
  await simulation.run();
  expect(ran).toEqual(['b', 'a, again']);
});

test('Simulation stops when its signal does', async () => {
  const simulation = new Simulation({ seed: 1 });
  const tick = () => void simulation.after(1, tick);
  tick();
  const controller = new AbortController();
  simulation.after(500, () => controller.abort(new Error('enough')));
  await expect(simulation.run({ signal: controller.signal })).rejects.toThrow('enough');
  expect(simulation.elapsedMs).toBeLessThan(2 ** 17);
});

test('Simulation refuses two runs at once, endless delays and odd seeds', async () => {
  const simulation = new Simulation({ seed: 1 });
  const run = simulation.run({ untilMs: 10 });
  await expect(simulation.run()).rejects.toThrow(
    'Cannot run a simulation: expected no other run in this process, got one under way',
  );
  await run;
  expect(() => simulation.after(Infinity, () => {})).toThrow(
    'Cannot schedule an event: expected a finite delay, got Infinity',
  );
  expect(() => simulation.after(NaN, () => {})).toThrow(RangeError);
  expect(() => new Simulation({ seed: -1 })).toThrow(
    'Cannot start a simulation: expected a seed of at least 0, got -1',
  );
});

test('Simulation that settles by turns lets real input in between two events', async () => {
  const simulation = new Simulation({ seed: 1, settle: 'turn' });
  const told: string[] = [];
  simulation.after(1, () => void setImmediate(() => told.push('input')));
  simulation.after(2, () => void told.push('event'));
  await simulation.run();
  expect(told).toEqual(['input', 'event']);
});
