/**
 * The price of neighbours for a hit that needs none: CPU time per request of nodes in a fleet of
 * four, and of nodes without neighbours, in rounds in turn. All hold the same object of 10 kB.
 *
 * Each side has two processes, and a round takes the mean of the two: two processes without
 * neighbours differed by up to 20 % in a round, by how their code was compiled and placed.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { checkedGet } from '../../packages/testkit/src/fleet/checked-get.ts';
import type { FleetNode } from '../../packages/testkit/src/fleet/fleet-node.ts';
import { knownPath } from '../../packages/testkit/src/origins/known-body.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import { load } from '../cache/wrk.ts';
import { median } from '../shared/statistics.ts';
import { met, startBenchFleet } from './bench-fleet.ts';

const MOST_RATIO = 1.03;
/** The nodes of a round: side, and number on that side. */
const ORDER: readonly (readonly [side: number, node: number])[] = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 1],
];

export async function localHitsTable(isQuick: boolean): Promise<string[]> {
  const rounds = isQuick ? 3 : 15;
  const seconds = isQuick ? 1 : 2;
  await using origin = await ThrottledOrigin.start();
  await using first = await startBenchFleet({ nodes: 1, origin: origin.url, cooperates: false });
  await using second = await startBenchFleet({ nodes: 1, origin: origin.url, cooperates: false });
  await using fleet = await startBenchFleet({ nodes: 4, origin: origin.url });
  const path = knownPath('hit', 10_000);
  const alone = [first.nodes[0], second.nodes[0]];
  const sides = [alone, fleet.nodes.slice(0, 2)];
  for (const node of sides.flat()) {
    await checkedGet(node.port, path);
    await cpuPerRequest(node, path, seconds);
  }
  const costs: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const sums = [0, 0];
    // The order changes, so that a slow second meets both sides alike.
    for (const [side, node] of round % 2 === 0 ? ORDER : ORDER.toReversed())
      sums[side] += await cpuPerRequest(sides[side][node], path, seconds);
    for (const [side, sum] of sums.entries()) costs[side].push(sum / alone.length);
  }
  const ratios = costs[1].map((cost, i) => cost / costs[0][i]).sort((a, b) => a - b);
  const ratio = median(ratios);
  const [low, high] = medianInterval(ratios);
  const isMet = ratio <= MOST_RATIO + (high - low);
  return [
    `${rounds} rounds in turn, two processes of each kind for ${seconds} s each, wrk with 32 connections, hits of 10 kB from memory.`,
    '',
    '| node | CPU per request, µs | ratio, median | 95 % interval of the median | wanted |',
    '|---|---:|---:|---:|---|',
    `| alone | ${median(costs[0]).toFixed(1)} | 1 | | |`,
    `| with three neighbours | ${median(costs[1]).toFixed(1)} | ${ratio.toFixed(3)} | ${low.toFixed(3)} to ${high.toFixed(3)} | at most ${MOST_RATIO} plus the interval's width: ${met(isMet)} |`,
  ];
}

async function cpuPerRequest(node: FleetNode, path: string, seconds: number): Promise<number> {
  const { requests } = await node.status();
  const before = cpuMicroseconds(node.pid);
  const url = `http://127.0.0.1:${node.port}${path}`;
  const { errors } = await load(url, { connections: 32, seconds });
  const after = cpuMicroseconds(node.pid);
  if (errors > 0) throw new Error(`Cannot measure hits: expected no error, got ${errors}`);
  return (after - before) / ((await node.status()).requests.total - requests.total);
}

/** CPU time of a process since its start, of all its threads, as the scheduler counts it. */
function cpuMicroseconds(pid: number): number {
  let ns = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`))
    ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  return ns / 1000;
}

/** Order statistics around the median that contain the true one in 95 % of cases. */
function medianInterval(sorted: readonly number[]): [number, number] {
  const n = sorted.length;
  const reach = (1.96 * Math.sqrt(n)) / 2;
  const low = Math.max(0, Math.floor(n / 2 - reach));
  const high = Math.min(n - 1, Math.ceil(n / 2 + reach));
  return [sorted[low], sorted[high]];
}
