import { expect, test } from 'vitest';
import { SimNetwork } from '../network/sim-network.ts';
import { SimulationError } from '../simulation-error.ts';
import { Simulation } from './simulation.ts';

const CALLS: Record<string, () => unknown> = {
  setTimeout: () => setTimeout(() => {}, 1),
  setInterval: () => setInterval(() => {}, 1),
  setImmediate: () => setImmediate(() => {}),
  'Date.now': () => Date.now(),
  'new Date()': () => new Date(),
  'Date()': () => Date(),
  'performance.now': () => performance.now(),
  'Math.random': () => Math.random(),
  'crypto.randomUUID': () => crypto.randomUUID(),
  'crypto.getRandomValues': () => crypto.getRandomValues(new Uint8Array(4)),
};

async function errorOf(call: () => unknown): Promise<unknown> {
  const simulation = new Simulation({ seed: 1 });
  simulation.clockOf('a').after(1, () => void call());
  return simulation.run().catch((error: unknown) => error);
}

for (const [name, call] of Object.entries(CALLS))
  test(`Seal refuses ${name} during a run, and names it`, async () => {
    const error = await errorOf(call);
    expect(error).toBeInstanceOf(SimulationError);
    expect(error).toMatchObject({ code: 'sealed' });
    expect(`${error}`).toContain(`expected the Clock of a node, got ${name} (seed 1, 1 ms)`);
  });

test('Seal gives everything back after a run, also after one that failed', async () => {
  const own = () =>
    [globalThis, Math, performance, crypto].map((owner) => Object.getOwnPropertyDescriptors(owner));
  const [before, dateBefore] = [own(), Date];
  await errorOf(() => {});
  await errorOf(() => Math.random());
  expect(Date).toBe(dateBefore);
  const after = own();
  for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'Date'] as const)
    expect(after[0][name as 'Date']).toEqual(before[0][name as 'Date']);
  expect(after.slice(1)).toEqual(before.slice(1));
  expect(Date.now()).toBeGreaterThan(0);
});

test('Seal leaves dates that are functions of their arguments', async () => {
  const told: unknown[] = [];
  const error = await errorOf(() => {
    const date = new Date(86_400_000);
    told.push(date instanceof Date, date.toISOString(), Date.UTC(1970, 0, 2), Date.parse('1970-01-02'));
  });
  expect(error).toBe('idle');
  expect(told).toEqual([true, '1970-01-02T00:00:00.000Z', 86_400_000, 86_400_000]);
});

test('Seal ends a run whose code swallows the error', async () => {
  const simulation = new Simulation({ seed: 1 });
  const network = new SimNetwork(simulation);
  const a = network.join({ id: 'a', peers: ['sim:b'] });
  // A service that throws is a refusal for its caller.
  network.join({ id: 'b', peers: [] }).serve('x', () => Uint8Array.of(Math.random()));
  simulation.after(10, () => {
    a.request('sim:b', 'x', new Uint8Array(0), { timeoutMs: 100 }).catch(() => {});
  });
  await expect(simulation.run({ untilMs: 1000 })).rejects.toMatchObject({ code: 'sealed' });
});

test('Seal is open for the world outside between two runs and in its turns', async () => {
  const simulation = new Simulation({ seed: 1 });
  let turns = 0;
  const tick = () => void simulation.after(1, tick);
  tick();
  const outside = async () => {
    for (; turns < 3; turns++) await new Promise<void>((resolve) => void setImmediate(resolve));
  };
  const seen = outside();
  await simulation.run({ events: 300_000 });
  await seen;
  expect(turns).toBe(3);
});
