import { expect, test } from 'vitest';
import { randomStream } from '../engine/random-stream.ts';
import { drawFaults, FAULT_KINDS, faultText, scheduleFault } from './fault.ts';
import { World } from './world.ts';

const nodes = ['a', 'b', 'c'];
const draw = (seed: number, count: number) =>
  drawFaults(randomStream(seed, 'faults'), nodes, { count, endMs: 10_000 });

test('drawFaults draws every kind, in the order of time, and all are over at the end', () => {
  const faults = draw(1, 500);
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(FAULT_KINDS));
  for (const [i, fault] of faults.entries()) {
    expect(fault.atMs + fault.forMs).toBeLessThanOrEqual(10_000);
    if (i > 0) expect(fault.atMs).toBeGreaterThanOrEqual(faults[i - 1].atMs);
    expect(nodes).toContain(fault.node);
    if ('other' in fault) expect(nodes.filter((node) => node !== fault.node)).toContain(fault.other);
  }
});

test('drawFaults draws the same for the same seed, and more of them begin with the same', () => {
  expect(draw(5, 20)).toEqual(draw(5, 20));
  expect(draw(5, 20)).not.toEqual(draw(6, 20));
  const texts = (count: number) => new Set(draw(5, count).map(faultText));
  expect([...texts(10)].every((text) => texts(20).has(text))).toBe(true);
});

test('scheduleFault breaks and mends what it names', async () => {
  const world = new World({ nodes, program: () => {}, faultyMs: 1000, quietMs: 0, faults: 0 }, 1, []);
  const { simulation, network } = world;
  const advance = (untilMs: number) => simulation.run({ untilMs });
  const time = { atMs: 100, forMs: 100 };
  scheduleFault({ kind: 'crash', node: 'a', losesDisk: false, ...time }, world);
  scheduleFault({ kind: 'cut', node: 'b', other: 'c', ...time }, world);
  scheduleFault({ kind: 'slow', node: 'b', factor: 4, ...time }, world);
  scheduleFault({ kind: 'skew', node: 'c', offsetMs: 500, drift: 0, ...time }, world);
  scheduleFault({ kind: 'weather', node: 'b', other: 'a', conditions: { delayMs: 70 }, ...time }, world);
  const state = () => [
    world.host('a').isUp,
    network.reach('sim:b', 'sim:c') !== undefined,
    simulation.clockOf('b').isSlow,
    simulation.clockOf('c').now() - simulation.clockOf('b').now(),
    network.delayMs('sim:b', 'sim:a'),
  ];
  const healthy = [true, true, false, 0, 5];
  await advance(50);
  expect(state()).toEqual(healthy);
  await advance(150);
  expect(state()).toEqual([false, false, true, 500, 70]);
  await advance(250);
  expect(state()).toEqual(healthy);
});

test('faultText says when, how long, what and where', () => {
  expect(faultText({ kind: 'cut', atMs: 5, forMs: 10, node: 'a', other: 'b' })).toBe(
    'at 5 ms for 10 ms: cut a, b',
  );
  expect(faultText({ kind: 'slow', atMs: 5, forMs: 10, node: 'a', factor: 3 })).toBe(
    'at 5 ms for 10 ms: slow a {"factor":3}',
  );
});
