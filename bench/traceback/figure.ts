/**
 * `npm run traceback-figure`: the route of docs/guide/traceback.md, drawn as `bloomery traceback
 * --format svg` draws it. The answers are those of the network in
 * apps/cli/test/tracing/routed-network.ts with one silent and one lying collector.
 */

import { writeFileSync } from 'node:fs';
import { graphSvg } from '../../apps/cli/src/tracing/graph-svg.ts';
import { traceGraph } from '../../packages/packets/src/traceback/graph/path-odds.ts';
import { topologyOf } from '../../packages/packets/src/traceback/graph/topology.ts';
import { type CollectorAnswer, walkBack } from '../../packages/packets/src/traceback/graph/walk.ts';

const topology = topologyOf(
  ['r1', 'r2', 'r3', 'r4', 'r5', 'r6', 's1', 's2'],
  [
    ['r1', 'r2'],
    ['r2', 'r3'],
    ['r3', 'r4'],
    ['r4', 'r5'],
    ['r5', 'r6'],
    ['r2', 's1'],
    ['r5', 's2'],
  ],
);
const PACKET = Uint8Array.of(1);
const change = { r5: 'fragment', r2: 'nat' } as const;

async function ask(id: string, packet: Uint8Array): Promise<CollectorAnswer> {
  if (id === 'r4') return { silent: 'no answer in 5000 ms' };
  const isRight = packet === PACKET && id.startsWith('r');
  const kind = change[id as keyof typeof change];
  const changes = isRight && kind !== undefined ? [{ kind, packet: PACKET }] : [];
  return { seen: id === 's1' || isRight, chance: 0.019, sightings: [], changes };
}

const decoys = [2, 3, 4, 5].map((byte) => Uint8Array.of(byte));
const walk = await walkBack({ topology, start: 'r6', forms: [PACKET], ask, decoys });
const path = process.argv[2] ?? new URL('../../docs/guide/figures/traceback-route.svg', import.meta.url);
writeFileSync(path, graphSvg(traceGraph(topology, walk)));
console.log(`${walk.nodes.size} collectors, ${walk.questions} questions`);
