/** Simulated nodes that leave, are killed and come back: where answers come from then. */

import { expect, test } from 'vitest';
import { type FleetOptions, type NodeChange, simulateFleet } from '../../src/simulation/index.ts';

const BASE: Omit<FleetOptions, 'trace'> = {
  policy: { kind: 'summaries', copies: 0, sharesReceivers: false },
  nodes: 3,
  capacity: { objects: 100 },
  seed: 1,
};
const ask = (timeMs: number, node: number, object: number) => ({ timeMs, node, object, bytes: 1000 });
const OBJECTS = Array.from({ length: 40 }, (_, object) => object);
/** Node 0 gets all objects from the origin. */
const FILL = OBJECTS.map((object) => ask(10 * object, 0, object));

async function sources(
  changes: readonly NodeChange[],
  requests: readonly ReturnType<typeof ask>[],
  policy = BASE.policy,
): Promise<{ local: number; neighbour: number; origin: number; falseHits: number }> {
  const filled = FILL.length;
  const result = await simulateFleet({
    ...BASE,
    policy,
    changes,
    trace: [...FILL, ...requests],
    warmUpRequests: filled,
  });
  const { localHits: local, neighbourHits: neighbour, originFetches: origin, falseHits } = result;
  return { local, neighbour, origin, falseHits };
}

test.each(['leave', 'kill'] as const)('the objects of a node are gone with it (%s)', async (kind) => {
  const later = OBJECTS.map((object) => ask(5000 + 100 * object, 1, object));
  expect(await sources([], later)).toMatchObject({ neighbour: 40, origin: 0 });
  const ended = [{ timeMs: 4000, node: 0, kind }];
  expect(await sources(ended, later)).toEqual({ local: 0, neighbour: 0, origin: 40, falseHits: 0 });
});

test('a node that comes back is empty, and gets from neighbours what they hold', async () => {
  const changes = [
    { timeMs: 4000, node: 1, kind: 'kill' },
    { timeMs: 6000, node: 1, kind: 'join' },
  ] as const;
  const before = OBJECTS.slice(0, 10).map((object) => ask(2000 + 10 * object, 1, object));
  const after = OBJECTS.map((object) => ask(12_000 + 10 * object, 1, object));
  // Node 1 keeps no copies, so all of them come from node 0 both times.
  expect(await sources(changes, [...before, ...after])).toMatchObject({ neighbour: 50, origin: 0 });
});

test('a fleet whose nodes all came back has nothing', async () => {
  const changes: NodeChange[] = [0, 1, 2].flatMap((node) => [
    { timeMs: 4000 + 1000 * node, node, kind: 'leave' },
    { timeMs: 4500 + 1000 * node, node, kind: 'join' },
  ]);
  const after = OBJECTS.map((object) => ask(30_000 + 10 * object, 2, object));
  expect(await sources(changes, after)).toMatchObject({ neighbour: 0, origin: 40 });
});

test('changes that cannot be are refused, and requests for nodes that are down', async () => {
  const leave = { timeMs: 4000, node: 0, kind: 'leave' } as const;
  await expect(sources([leave, leave], [])).rejects.toThrow('expected changes by rising times');
  await expect(sources([{ ...leave, kind: 'join' }], [])).rejects.toThrow('expected changes by rising');
  await expect(sources([{ ...leave, node: 3 }], [])).rejects.toThrow('expected changes by rising times');
  await expect(sources([leave], [], { kind: 'icp' })).rejects.toThrow('expected the policy summaries');
  await expect(sources([leave], [ask(5000, 0, 1)])).rejects.toThrow('expected a node that is up');
});
