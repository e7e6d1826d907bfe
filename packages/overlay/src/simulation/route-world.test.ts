import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal } from '@bloomery/testkit/statistics';
import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import { measureRoutes } from './measure-routes.ts';
import { randomGraph } from './random-graph.ts';
import { simulateChurn } from './route-churn.ts';
import { RouteWorld } from './route-world.ts';

const NODES = withEffort(400, 400);

test('randomGraph gives every node its links, none of them twice', () => {
  let state = 1;
  const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const links = randomGraph(200, 5, random);
  for (const [node, others] of links.entries()) {
    expect(others.size).toBe(5);
    expect(others.has(node)).toBe(false);
    for (const other of others) expect(links[other].has(node)).toBe(true);
  }
  expect(() => randomGraph(5, 3, random)).toThrow(/Cannot draw a graph/);
});

test('the nearest copy within three hops is found over a shortest way, within 64 kB per node', () => {
  const world = new RouteWorld({ seed: 1, nodes: NODES, objectsPerNode: 50 });
  world.settle();
  expect(world.plan.stateBytes).toBeLessThanOrEqual(64 * 1024);
  const figures = measureRoutes(world, 1000);
  expect(figures.wrong).toBe(0);
  expect(figures.nearFound).toBe(figures.near);
  expect(figures.nearShortest / figures.near).toBeGreaterThanOrEqual(0.98);
  expect(figures.stretch).toBeLessThanOrEqual(1.05);
});

test('queries for absent keys leave a node as often as the filters of its neighbours predict', () => {
  // Small on purpose: levels of 3 bits per key are to err.
  const world = new RouteWorld({ seed: 2, nodes: 200, objectsPerNode: 50, stateBytes: 6000 });
  world.settle();
  let [sent, expected, variance] = [0, 0, 0];
  for (let i = 0; i < 3000; i++) {
    const start = world.below(world.nodes.length);
    if (world.walk(start, hashKey(`nowhere ${i}`)).hops > 0) sent++;
    // The arrays of neighbours have keys in common, so the joint rate is computed from their bits.
    const rate = jointRate(world, start);
    expected += rate;
    variance += rate * (1 - rate);
  }
  expect(expected).toBeGreaterThan(300);
  expectNormal(sent, expected, Math.sqrt(variance), 'absent keys sent out');
});

test('a run is the same for the same seed, and another for another', () => {
  const run = (seed: number) => {
    const rates = { objects: 0.05, nodes: 0.01, links: 0.01 };
    return simulateChurn({ seed, nodes: 60, objectsPerNode: 20 }, rates, { rounds: 4, queries: 80 });
  };
  expect(run(1)).toEqual(run(1));
  expect(run(1)).not.toEqual(run(2));
});

test('with changes, filters find less and the second tier the rest; none is said to be nowhere', () => {
  const figures = [0.001, 0.02, 0.3].map((rate) =>
    simulateChurn(
      { seed: 3, nodes: 150, objectsPerNode: 30 },
      { objects: rate, nodes: rate / 5, links: rate / 5 },
      { rounds: 6, queries: 600 },
    ),
  );
  for (const { wrong } of figures) expect(wrong).toBe(0);
  const found = figures.map(({ near, nearFound }) => nearFound / near);
  const bytes = figures.map(({ updateBytes }) => updateBytes);
  expect(found[0]).toBeGreaterThan(found[2]);
  expect(bytes[2]).toBeGreaterThan(3 * bytes[0]);
});

test('measureRoutes counts a wrong "not found" of the second tier', () => {
  const world = new RouteWorld({ seed: 5, nodes: 100, objectsPerNode: 20, replicas: 2 });
  world.settle();
  expect(measureRoutes(world, 200).wrong).toBe(0);
  // A directory that has lost every second record: those queries that filters do not answer fail.
  const whole = world.secondTier.bind(world);
  world.secondTier = (hash) => (hash.low % 2 === 0 ? whole(hash) : new Set());
  const figures = measureRoutes(world, 200);
  expect(figures.handedOver).toBeGreaterThan(20);
  expect(figures.wrong).toBeGreaterThan(figures.handedOver / 4);
});

/**
 * The rate at which any level of any neighbour has a key that is in none: measured with keys of
 * another kind, because inclusion and exclusion over twelve filters is long.
 */
function jointRate(world: RouteWorld, start: number): number {
  const cached = rates.get(start);
  if (cached !== undefined) return cached;
  const { table } = world.nodes[start];
  let hits = 0;
  for (const probe of PROBES) if (table.leads(probe, 3).length > 0) hits++;
  const rate = hits / PROBES.length;
  rates.set(start, rate);
  return rate;
}

const rates = new Map<number, number>();
const PROBES = Array.from({ length: 4000 }, (_, i) => hashKey(`probe ${i}`));
