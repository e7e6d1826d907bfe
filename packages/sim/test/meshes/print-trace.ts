/** Prints the trace of a small fleet as JSON: a program for several versions of Node. */

import { useKernel } from 'bloomery';
import { MeshFleet } from './mesh-fleet.ts';

const hashes = [];
for (const kernel of ['javascript', 'wasm'] as const) {
  useKernel(kernel);
  const fleet = new MeshFleet({ seed: 11, meshes: 2, nodes: 8, keysPerNode: 40, replaced: 3 });
  await fleet.simulation.run({ untilMs: 300_000 });
  const { hash, eventCount } = fleet.simulation;
  hashes.push({ hash, eventCount, sums: fleet.sums().map(String) });
}
console.log(JSON.stringify({ node: process.versions.node, hashes }));
