/**
 * Networks for tests and benchmarks: random ones from a seed, trees, and the backbones of two
 * research networks as they were drawn in many papers: Abilene (11 nodes, 14 links) and the T1
 * backbone of NSFNET (14 nodes, 21 links).
 */

import { Random } from '@bloomery/testkit/statistics';
import { type Topology, topologyOf } from '../../src/traceback/graph/topology.ts';

type Links = [string, string][];

/** A network from lines "node: neighbour neighbour …". */
function fromLines(...lines: readonly string[]): Topology {
  const links: Links = lines.flatMap((line) => {
    const [node, others] = line.split(': ');
    return others.split(' ').map((other): [string, string] => [node, other]);
  });
  return topologyOf(new Set(links.flat()), links);
}

export const ABILENE: Topology = fromLines(
  'Seattle: Sunnyvale Denver',
  'Sunnyvale: LosAngeles Denver',
  'LosAngeles: Houston',
  'Denver: KansasCity',
  'KansasCity: Houston Indianapolis',
  'Houston: Atlanta',
  'Atlanta: Indianapolis Washington',
  'Indianapolis: Chicago',
  'Chicago: NewYork',
  'NewYork: Washington',
);

export const NSFNET: Topology = fromLines(
  'Seattle: PaloAlto SanDiego Champaign',
  'PaloAlto: SanDiego SaltLakeCity',
  'SanDiego: Houston',
  'SaltLakeCity: Boulder AnnArbor',
  'Boulder: Lincoln Houston',
  'Lincoln: Champaign',
  'Champaign: Pittsburgh',
  'Houston: Atlanta CollegePark',
  'AnnArbor: Princeton Ithaca',
  'Pittsburgh: Atlanta Princeton Ithaca',
  'Princeton: CollegePark',
  'Ithaca: CollegePark',
);

/** A connected network: a random tree, and random links until the mean degree is reached. */
export function randomNetwork(nodes: number, meanDegree: number, seed: number): Topology {
  const random = new Random(seed);
  const links: Links = [];
  for (let i = 1; i < nodes; i++) links.push([`n${i}`, `n${random.below(i)}`]);
  const known = new Set(links.map(([a, b]) => `${a} ${b}`));
  while (links.length < (nodes * meanDegree) / 2) {
    const a = random.below(nodes);
    const b = random.below(nodes);
    const name = `n${Math.max(a, b)} n${Math.min(a, b)}`;
    if (a === b || known.has(name)) continue;
    known.add(name);
    links.push([`n${Math.max(a, b)}`, `n${Math.min(a, b)}`]);
  }
  return topologyOf(
    Array.from({ length: nodes }, (_, i) => `n${i}`),
    links,
  );
}

/** A tree in which each node has `children`, down to a depth. The root is n0. */
export function treeNetwork(children: number, depth: number): Topology {
  const links: Links = [];
  let level = ['n0'];
  let count = 1;
  for (let i = 0; i < depth; i++) {
    level = level.flatMap((parent) =>
      Array.from({ length: children }, () => {
        const child = `n${count++}`;
        links.push([child, parent]);
        return child;
      }),
    );
  }
  return topologyOf(
    Array.from({ length: count }, (_, i) => `n${i}`),
    links,
  );
}

/** A shortest path between two nodes, both included. */
export function shortestPath({ neighbours }: Topology, from: string, to: string): string[] {
  const before = new Map<string, string>([[from, from]]);
  for (const id of before.keys()) {
    for (const next of neighbours.get(id) ?? []) if (!before.has(next)) before.set(next, id);
  }
  const path = [to];
  while (path.at(-1) !== from) path.push(before.get(path.at(-1) as string) as string);
  return path.reverse();
}
