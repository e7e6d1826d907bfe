import { expect, test } from 'vitest';
import { Simulation } from '../engine/simulation.ts';
import { type HostContext, SimHost } from './sim-host.ts';
import { SimNetwork } from './sim-network.ts';

function lab() {
  const simulation = new Simulation({ seed: 2 });
  const network = new SimNetwork(simulation);
  network.setConditions({ delayMs: 5 });
  const advance = (ms: number) => simulation.run({ untilMs: simulation.elapsedMs + ms });
  /** Counts its starts and its ticks on the disk. */
  const counter = ({ disk, clock, transport }: HostContext) => {
    const starts = Number(disk.get('starts') ?? 0) + 1;
    disk.set('starts', starts);
    const tick = () => {
      disk.set('ticks', Number(disk.get('ticks') ?? 0) + 1);
      clock.after(100, tick);
    };
    clock.after(100, tick);
    transport.serve('starts', () => Uint8Array.of(starts));
    return { starts };
  };
  const host = new SimHost(network, { id: 'a', peers: [] }, counter);
  return { simulation, network, advance, host };
}

test('SimHost starts its program again with its disk after a crash', async () => {
  const { advance, host } = lab();
  await advance(350);
  host.crash();
  expect([host.isUp, host.program]).toEqual([false, undefined]);
  await advance(1000);
  expect(host.disk.get('ticks')).toBe(3);
  host.restart();
  host.restart();
  await advance(250);
  expect([host.program, host.disk.get('ticks')]).toEqual([{ starts: 2 }, 5]);
});

test('SimHost starts with an empty disk after a crash that takes it', async () => {
  const { advance, host } = lab();
  await advance(350);
  host.crash({ losesDisk: true });
  host.restart();
  await advance(150);
  expect([host.program, host.disk.get('ticks')]).toEqual([{ starts: 1 }, 1]);
});

test('SimHost loses its disk also while it is down', async () => {
  const { host } = lab();
  host.crash();
  host.crash({ losesDisk: true });
  host.restart();
  expect(host.program).toEqual({ starts: 1 });
});

test('SimHost keeps the hands of a dead program off the disk of its successor', async () => {
  const { simulation, network, advance } = lab();
  let release = () => {};
  const host = new SimHost(network, { id: 'b', peers: [] }, ({ disk }) => {
    const life = Number(disk.get('life') ?? 0) + 1;
    disk.set('life', life);
    if (life > 1) return;
    void new Promise<void>((resolve) => (release = resolve)).then(() => disk.set('life', 'dead hand'));
  });
  host.crash();
  host.restart();
  simulation.after(1, () => release());
  await advance(10);
  expect(host.disk.get('life')).toBe(2);
});

test('SimHost is found by its neighbours again after a restart', async () => {
  const { network, advance, host } = lab();
  const asker = network.join({ id: 'asker', peers: [host.address] });
  const ask = () => asker.request(host.address, 'starts', new Uint8Array(0), { timeoutMs: 1000 });
  await advance(100);
  const [first] = await Promise.all([ask(), advance(100)]);
  host.crash();
  const [refused] = await Promise.all([ask().catch((error) => error.code), advance(100)]);
  host.restart();
  const [second] = await Promise.all([ask(), advance(100)]);
  expect([[...first], refused, [...second]]).toEqual([[1], 'unreachable', [2]]);
});
