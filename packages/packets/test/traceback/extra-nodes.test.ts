/** The size of a trace's graph, with real tables, compared with theory. */

import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ABILENE, NSFNET, randomNetwork, treeNetwork } from './networks.ts';
import { TracedNetwork } from './trace-model.ts';

const DRAWS = 200;

test.each([
  ['Abilene', ABILENE, 11, 14],
  ['NSFNET', NSFNET, 14, 21],
] as const)('%s has its nodes and links', (_, { collectors, neighbours }, nodes, links) => {
  const ends = [...neighbours.values()].reduce((sum, { length }) => sum + length, 0);
  expect([collectors.size, ends / 2]).toEqual([nodes, links]);
});

test.each([
  ['a random network, degree 3', 5, randomNetwork(300, 3, 5)],
  ['a random network, degree 3', 10, randomNetwork(300, 3, 6)],
  ['a random network, degree 6', 10, randomNetwork(300, 6, 7)],
  ['Abilene', 5, ABILENE],
  ['Abilene', 10, ABILENE],
  ['NSFNET', 5, NSFNET],
  ['NSFNET', 10, NSFNET],
] as const)('extra nodes in %s at %i bits are as theory says', async (name, bits, topology) => {
  const network = new TracedNetwork(topology, bits, 100 + bits);
  let observed = 0;
  let expected = 0;
  let variance = 0;
  for (let i = 0; i < withEffort(400, 200); i++) {
    const { path, extra } = await network.trace();
    const { mean, variance: own } = network.percolate(path, DRAWS);
    observed += extra;
    expected += mean;
    // The mean of the draws has an error of its own.
    variance += own * (1 + 1 / DRAWS);
  }
  expect(observed).toBeGreaterThan(0);
  expectNormal(observed, expected, Math.sqrt(variance), `${name}, ${bits} bits: extra nodes`);
});

test('extra nodes in a tree are as the closed form says, and as the draws say', async () => {
  const network = new TracedNetwork(treeNetwork(3, 5), 5, 9);
  let observed = 0;
  let expected = 0;
  let drawn = 0;
  let variance = 0;
  for (let i = 0; i < withEffort(300, 150); i++) {
    const { path, extra } = await network.trace();
    const { mean, variance: own } = network.percolate(path, DRAWS);
    observed += extra;
    expected += network.meanInTree(path);
    drawn += mean;
    variance += own;
  }
  expectNormal(observed, expected, Math.sqrt(variance), 'tables and closed form');
  expectNormal(drawn, expected, Math.sqrt(variance / DRAWS), 'draws and closed form');
});
