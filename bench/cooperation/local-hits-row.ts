/**
 * The price of neighbours for a hit that needs none: CPU time per request of a node in a fleet of
 * four, and of the same node alone, in rounds in turn. Both hold the same object of 10 kB.
 */

import { readFileSync } from 'node:fs';
import { checkedGet } from '../../packages/testkit/src/fleet/checked-get.ts';
import type { FleetNode } from '../../packages/testkit/src/fleet/fleet-node.ts';
import { knownPath } from '../../packages/testkit/src/origins/known-body.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import { load } from '../cache/wrk.ts';
import { median } from '../shared/statistics.ts';
import { met, startBenchFleet } from './bench-fleet.ts';

const MOST_RATIO = 1.03;
/** The kernel counts CPU time in hundredths of a second. */
const TICK_US = 10_000;

export async function localHitsTable(isQuick: boolean): Promise<string[]> {
  const rounds = isQuick ? 3 : 15;
  const seconds = isQuick ? 1 : 3;
  await using origin = await ThrottledOrigin.start();
  await using alone = await startBenchFleet({ nodes: 1, origin: origin.url, cooperates: false });
  await using fleet = await startBenchFleet({ nodes: 4, origin: origin.url });
  const path = knownPath('hit', 10_000);
  const nodes = [alone.nodes[0], fleet.nodes[0]];
  for (const node of nodes) {
    await checkedGet(node.port, path);
    await cpuPerRequest(node, path, seconds);
  }
  const costs: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++)
    // The order changes, so that a slow second meets both alike.
    for (const side of round % 2 === 0 ? [0, 1] : [1, 0])
      costs[side].push(await cpuPerRequest(nodes[side], path, seconds));
  const ratios = costs[1].map((cost, i) => cost / costs[0][i]).sort((a, b) => a - b);
  const ratio = median(ratios);
  const [low, high] = medianInterval(ratios);
  const isMet = ratio <= MOST_RATIO + (high - low);
  return [
    `${rounds} rounds of ${seconds} s in turn, wrk with 32 connections, hits of 10 kB from memory.`,
    '',
    '| node | CPU per request, µs | ratio, median | 95 % interval of the median | wanted |',
    '|---|---:|---:|---:|---|',
    `| alone | ${median(costs[0]).toFixed(1)} | 1 | | |`,
    `| with three neighbours | ${median(costs[1]).toFixed(1)} | ${ratio.toFixed(3)} | ${low.toFixed(3)} to ${high.toFixed(3)} | at most ${MOST_RATIO} plus the interval's width: ${met(isMet)} |`,
  ];
}

async function cpuPerRequest(node: FleetNode, path: string, seconds: number): Promise<number> {
  const before = cpuMicroseconds(node.pid);
  const began = performance.now();
  const { requestsPerSecond, errors } = await load(`http://127.0.0.1:${node.port}${path}`, {
    connections: 32,
    seconds,
  });
  if (errors > 0) throw new Error(`Cannot measure hits: expected no error, got ${errors}`);
  const tookSeconds = Math.min((performance.now() - began) / 1000, seconds * 1.2);
  return (cpuMicroseconds(node.pid) - before) / (requestsPerSecond * tookSeconds);
}

/** CPU time of a process since its start, of all its threads. */
function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return TICK_US * (Number(fields[11]) + Number(fields[12]));
}

/** Order statistics around the median that contain the true one in 95 % of cases. */
function medianInterval(sorted: readonly number[]): [number, number] {
  const n = sorted.length;
  const reach = (1.96 * Math.sqrt(n)) / 2;
  const low = Math.max(0, Math.floor(n / 2 - reach));
  const high = Math.min(n - 1, Math.ceil(n / 2 + reach));
  return [sorted[low], sorted[high]];
}
