/**
 * The plan for 10,000 nodes, on paper: what a mesh costs each node when every node follows the
 * summaries of all the others, by the formulas of `planSummary`. Nothing is simulated here.
 *
 * Each node holds 100,000 objects, replaces 1 % of them per second, and tells all its neighbours
 * once a second. The rate of each summary is that of a node: 0.02 false candidates at a miss, over
 * all neighbours together.
 */

import { planSummary } from '../../packages/bloomery/src/math/plan/plan-summary.ts';

const OBJECTS = 100_000;
const CHANGED = 0.01;
const FALSE_CANDIDATES = 0.02;
const MESHES = [16, 64, 100, 256, 1000, 10_000];

/** Costs of a node in a mesh of this size. */
function meshCosts(nodes: number) {
  const neighbours = nodes - 1;
  const { falsePositiveRate, forms } = planSummary({
    capacity: OBJECTS,
    falseCandidates: FALSE_CANDIDATES,
    neighbours,
    changedFraction: CHANGED,
  });
  // The message is a set. The receiver holds a Bloom filter with as many hashes as memory likes.
  const [{ deltaBytes }] = forms;
  const held = forms.reduce((least, form) => (form.memoryBytes < least.memoryBytes ? form : least));
  return {
    nodes,
    falsePositiveRate,
    deltaBytes,
    messagesPerSecond: neighbours,
    bytesPerSecond: neighbours * deltaBytes,
    memoryBytes: neighbours * held.memoryBytes,
  };
}

/** The table of the page. */
export function fleetPlan(): string[] {
  const rows = MESHES.map(meshCosts).map(
    ({ nodes, falsePositiveRate, deltaBytes, messagesPerSecond, bytesPerSecond, memoryBytes }) =>
      `| ${nodes.toLocaleString('en-US')} | ${falsePositiveRate.toExponential(1)} | ${(deltaBytes / 1000).toFixed(1)} kB | ${messagesPerSecond.toLocaleString('en-US')} | ${byteText(bytesPerSecond)}/s | ${byteText(memoryBytes)} |`,
  );
  return [
    '| nodes in a mesh | rate of a summary | an update | updates in, and out, per second | bytes in, and out | memory for summaries |',
    '|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ];
}

/** A number of bytes with three digits and a unit. */
export function byteText(count: number): string {
  if (count < 1e3) return `${count.toFixed(0)} B`;
  if (count < 1e6) return `${(count / 1e3).toPrecision(3)} kB`;
  return count < 1e9 ? `${(count / 1e6).toPrecision(3)} MB` : `${(count / 1e9).toPrecision(3)} GB`;
}
