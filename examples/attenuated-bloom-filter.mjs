// Finds the nearest node that has a file. Each node tells its neighbours which files it and its own
// neighbours hold, one hop further in each round (Rhea and Kubiatowicz). A query is then routed to
// the neighbour that promises the smallest distance.

import assert from 'node:assert/strict';
import { AttenuatedBloomFilter } from 'bloomery';

// A grid of 8 by 8; each node has 50 files and knows about files up to 4 hops away.
const SIDE = 8;
const nodes = Array.from({ length: SIDE * SIDE }, (_, i) => ({ x: i % SIDE, y: Math.floor(i / SIDE) }));
const hops = (a, b) => Math.abs(nodes[a].x - nodes[b].x) + Math.abs(nodes[a].y - nodes[b].y);
const neighbours = nodes.map((_, a) => nodes.map((_, b) => b).filter((b) => hops(a, b) === 1));
const fileOf = (node, i) => `file ${i} of node ${node}`;

const own = nodes.map((_, node) => {
  const table = AttenuatedBloomFilter.forCapacity({ levels: 5, capacity: 1250, falsePositiveRate: 0.001 });
  table.addMany(Array.from({ length: 50 }, (_, i) => fileOf(node, i)));
  return table;
});

// In each of four rounds, every node absorbs the tables of its neighbours.
let tables = own;
for (let round = 0; round < 4; round++) {
  tables = own.map((table, node) =>
    neighbours[node].reduce((sum, next) => sum.absorb(tables[next]), table.copy()),
  );
}

let questions = 0;
let exact = 0;
let steps = 0;
for (let holder = 0; holder < nodes.length; holder++) {
  const file = fileOf(holder, holder % 50);
  for (let start = 0; start < nodes.length; start++) {
    const far = hops(start, holder);
    if (far > 4) continue;
    const distance = tables[start].distance(file);
    assert.ok(distance <= far, 'what is within reach is never missed');
    questions++;
    if (distance === far) exact++;
    // Route: always to the neighbour with the smallest distance.
    let at = start;
    for (let step = 0; step < 20 && at !== holder; step++, steps++) {
      const said = neighbours[at].map((next) => tables[next].distance(file) ?? Number.POSITIVE_INFINITY);
      at = neighbours[at][said.indexOf(Math.min(...said))];
    }
    assert.equal(at, holder, `the question for ${file} from ${start} went astray`);
  }
}
assert.ok(exact / questions > 0.98);
console.log(
  `${questions} questions, ${exact} distances exact, ${steps} hops in all, ${tables[0].byteLength} bytes a node`,
);
