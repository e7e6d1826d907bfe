import { kernelInUse, useKernel } from 'bloomery';
import { afterEach, expect, test } from 'vitest';
import { MeshFleet, type MeshOptions } from './mesh-fleet.ts';

const SMALL: MeshOptions = { seed: 11, meshes: 3, nodes: 12, keysPerNode: 60, replaced: 3 };
const TEN_MINUTES = 600_000;

afterEach(() => useKernel('auto'));

async function run(options: MeshOptions) {
  const fleet = new MeshFleet(options);
  // A little more than ten minutes, so that the last messages have arrived.
  await fleet.simulation.run({ untilMs: TEN_MINUTES + 1000 });
  return fleet;
}

test('MeshFleet: every node holds the latest set of every other one after ten virtual minutes', async () => {
  const fleet = await run(SMALL);
  expect(fleet.links).toBe(3 * 12 * 11);
  expect(fleet.currentLinks()).toBe(fleet.links);
  // Ten publications of each node, or eleven if its first came within the last second.
  expect(fleet.received).toBeGreaterThanOrEqual(10 * fleet.links);
  expect(fleet.taken).toBeGreaterThan(9 * fleet.links);
});

test('MeshFleet goes the same way on both kernels', async () => {
  useKernel('javascript');
  expect(kernelInUse()).toBe('javascript');
  const plain = await run(SMALL);
  useKernel('wasm');
  expect(kernelInUse()).toBe('wasm');
  const wasm = await run(SMALL);
  expect([wasm.simulation.hash, wasm.sums()]).toEqual([plain.simulation.hash, plain.sums()]);
  expect(wasm.simulation.eventCount).toBe(plain.simulation.eventCount);
});

test('MeshFleet goes the same way with shared sets and without', async () => {
  const [shared, own] = [await run(SMALL), await run({ ...SMALL, shares: false })];
  expect([shared.simulation.hash, shared.taken]).toEqual([own.simulation.hash, own.taken]);
  expect(own.currentLinks()).toBe(own.links);
});

test('MeshFleet goes another way with another seed', async () => {
  const [one, other] = [await run(SMALL), await run({ ...SMALL, seed: 12 })];
  expect(one.simulation.hash).not.toBe(other.simulation.hash);
});
