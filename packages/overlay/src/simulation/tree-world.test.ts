import { expectNormal } from '@bloomery/testkit/statistics';
import { BloomFilter } from 'bloomery';
import { expect, test } from 'vitest';
import { pairKeys, queryKeys, subsetKeys } from '../routing/tree/attributes.ts';
import { TreeNode } from '../routing/tree/tree-node.ts';
import { TreeWorld, type TreeWorldOptions } from './tree-world.ts';

const OPTIONS: TreeWorldOptions = {
  seed: 1,
  fanOut: 4,
  depth: 3,
  servicesPerNode: 3,
  attributes: 4,
  values: 30,
  bits: 4096,
  hashes: 3,
  subsets: 2,
  leaseMs: 3000,
};

test('subsetKeys has every subset once, whatever the order of the pairs', () => {
  const eight = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`a${i}`, 'x']));
  expect([1, 2, 3].map((most) => new Set(subsetKeys(eight, most)).size)).toEqual([8, 36, 92]);
  expect(subsetKeys({ b: '2', a: '1' }, 2)).toEqual(subsetKeys({ a: '1', b: '2' }, 2));
  expect(pairKeys({ a: 'b=c' })).not.toEqual(pairKeys({ 'a=b': 'c' }));
  expect(queryKeys({ a: '1', b: '2', c: '3' }, 2)).toHaveLength(2);
  expect(subsetKeys(eight, 2)).toEqual(expect.arrayContaining(queryKeys({ a1: 'x', a5: 'x' }, 2)));
  for (const key of queryKeys({ a0: 'x', a1: 'x', a2: 'x' }, 2)) expect(subsetKeys(eight, 2)).toContain(key);
});

test('every service is found from every node, by pairs and by subsets', () => {
  for (const subsets of [1, 2]) {
    const world = new TreeWorld({ ...OPTIONS, subsets, depth: 2 });
    world.nodes[17].announce('rare', { a0: 'only here', a1: 'v1' });
    world.tell(0);
    for (let start = 0; start < world.nodes.length; start++)
      expect(world.search(start, { a0: 'only here', a1: 'v1' })).toMatchObject({ status: 'found', node: 17 });
    expect(world.search(20, { a0: 'nowhere', a1: 'v1' }).status).toBe('absent');
    world.nodes[17].withdraw('rare');
    world.tell(1000);
    expect(world.search(20, { a0: 'only here', a1: 'v1' }).status).toBe('absent');
  }
});

test('the nodes that a search visits in vain are the sum of the rates of the filters', () => {
  const world = new TreeWorld({ ...OPTIONS, bits: 2048 });
  world.tell(0);
  const rates = world.nodes.slice(1).map((_, i) => {
    const number = i + 1;
    const filter = world.nodes[world.parentOf(number)!].childFilter(String(number))!;
    return filter.estimatedFalsePositiveRate();
  });
  const expected = rates.reduce((sum, rate) => sum + rate, 0);
  const detours = Array.from({ length: 4000 }, (_, i) => world.search(0, { a0: `nowhere ${i}` }).detours);
  const mean = detours.reduce((sum, each) => sum + each, 0) / detours.length;
  const variance = detours.reduce((sum, each) => sum + (each - mean) ** 2, 0) / detours.length;
  expect(expected).toBeGreaterThan(0.5);
  expectNormal(mean, expected, Math.sqrt(variance / detours.length), 'nodes visited in vain');
});

test('a query that is a filter mixes pairs of different services; subsets do not', () => {
  const wrong = [1, 2].map((subsets) => {
    const world = new TreeWorld({ ...OPTIONS, subsets, bits: 65_536, hashes: 6, values: 20 });
    world.tell(0);
    let detours = 0;
    for (let i = 0; i < 300; i++) detours += world.search(0, pairOf(world)).detours;
    return detours / 300;
  });
  expect(wrong[0]).toBeGreaterThan(5 * wrong[1]);
  expect(wrong[1]).toBeLessThan(0.5);
});

test('a silent child makes a search unknown, until it is heard or has left', () => {
  const world = new TreeWorld({ ...OPTIONS, depth: 2 });
  world.tell(0);
  const silent = new Set([6]);
  world.tell(2000, silent);
  expect(world.search(0, { a0: 'nowhere' }).status).toBe('absent');
  world.tell(4000, silent);
  for (const start of [0, world.parentOf(6)!, 20])
    expect(world.search(start, { a0: 'nowhere' }).status).toBe('unknown');
  world.tell(5000);
  expect(world.search(20, { a0: 'nowhere' }).status).toBe('absent');
  world.tell(9000, silent);
  expect(world.search(20, { a0: 'nowhere' }).status).toBe('unknown');
  world.nodes[world.parentOf(6)!].dropChild('6');
  world.tell(9500, silent);
  world.nodes[world.parentOf(6)!].dropChild('6');
  expect(world.search(20, { a0: 'nowhere' }).status).toBe('absent');
});

test('a node that has just started is not complete until all of its children were heard', () => {
  const world = new TreeWorld({ ...OPTIONS, depth: 2 });
  world.nodes[17].announce('rare', { a0: 'only here' });
  // No child has told anything yet, so nothing can be said to be absent.
  expect(world.search(0, { a0: 'only here' }).status).toBe('unknown');
  world.tell(0);
  expect(world.search(0, { a0: 'only here' })).toMatchObject({ status: 'found', node: 17 });
});

test('TreeNode does not use a filter of another tree', () => {
  const node = new TreeNode(OPTIONS);
  node.takeChild('a', new TreeNode(OPTIONS).unified(), true, 0);
  expect(node.isComplete).toBe(true);
  const { bits, hashes } = OPTIONS;
  for (const other of [
    new BloomFilter({ bits: 2 * bits, hashes }),
    new BloomFilter({ bits, hashes: hashes + 1 }),
    new BloomFilter({ bits, hashes, seed: 7 }),
  ]) {
    expect(node.takeChild('b', other, true, 0)).toBe(false);
    expect(node.below(node.queryFilter({ a0: 'v1' }))).toEqual([]);
    expect(node.unified().onesCount()).toBe(0);
    expect(node.isComplete).toBe(false);
  }
});

/** Two pairs that some services have, and often no single one has both. */
function pairOf(world: TreeWorld): Record<string, string> {
  const service = world.drawService();
  return { a0: service.a0, a1: service.a1 };
}
