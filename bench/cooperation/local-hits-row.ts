/**
 * The price of neighbours for a hit that needs none: CPU time per request of four nodes that are
 * each other's neighbours, and of four nodes without neighbours. Each holds an object of 10 kB that
 * it fetched from the origin itself.
 *
 * Each round starts eight new processes. Two processes without neighbours differ by up to 20 % for
 * as long as they live, by how their code was compiled and placed. Two processes of each kind for
 * all rounds gave a ratio with an interval of 26 %, in which a real cost could hide: some nodes
 * with neighbours had slow ticks (packages/cache/src/node/kept-tick.ts). Rounds with new processes
 * are independent of each other, so the interval contains the luck of the processes.
 *
 * A process is warm after some 20,000 requests, when the compiler has seen the whole path. Then the
 * processes are loaded for a second each, in turn, in an order that changes from pass to pass.
 *
 * The processor's own counter of instructions would need no rounds; virtual machines often have
 * none.
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
/** Processes of each kind. */
const PROCESSES = 4;
const WARM_REQUESTS = 20_000;
const SECONDS = 1;

export async function localHitsTable(isQuick: boolean): Promise<string[]> {
  const rounds = isQuick ? 3 : 15;
  const passes = isQuick ? 1 : 2;
  await using origin = await ThrottledOrigin.start();
  const alone: number[] = [];
  const together: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const costs = await costsOfRound(origin.url, passes);
    alone.push(costs.alone);
    together.push(costs.together);
  }
  const ratios = together.map((cost, i) => cost / alone[i]).sort((a, b) => a - b);
  const ratio = median(ratios);
  const [low, high] = medianInterval(ratios);
  const isMet = ratio <= MOST_RATIO + (high - low);
  return [
    `${rounds} rounds, each with ${PROCESSES} new processes of each kind, which have answered ${WARM_REQUESTS.toLocaleString('en')} requests before. Each`,
    `is loaded ${passes} times for ${SECONDS} s, in turn, by wrk with 32 connections: hits of 10 kB from memory.`,
    '',
    '| node | CPU per request, µs | ratio, median of the rounds | 95 % interval of the median | wanted |',
    '|---|---:|---:|---:|---|',
    `| alone | ${median(alone).toFixed(1)} | 1 | | |`,
    `| with three neighbours | ${median(together).toFixed(1)} | ${ratio.toFixed(3)} | ${low.toFixed(3)} to ${high.toFixed(3)} | at most ${MOST_RATIO} plus the interval's width: ${met(isMet)} |`,
  ];
}

/** CPU time per request of both kinds of nodes, in µs, as the mean over their processes. */
async function costsOfRound(origin: string, passes: number): Promise<{ alone: number; together: number }> {
  await using alone = await startBenchFleet({ nodes: PROCESSES, origin, cooperates: false });
  await using together = await startBenchFleet({ nodes: PROCESSES, origin });
  // The kinds alternate, so that a slow second meets both alike.
  const nodes = alone.nodes.flatMap((node, i) => [
    { kind: 'alone' as const, node, path: pathOf(i) },
    { kind: 'together' as const, node: together.nodes[i], path: pathOf(i) },
  ]);
  for (const { node, path } of nodes) {
    await checkedGet(node.port, path);
    while ((await node.status()).requests.total < WARM_REQUESTS) await cpuPerRequest(node, path);
  }
  const sums = { alone: 0, together: 0 };
  for (let pass = 0; pass < passes; pass++)
    for (const { kind, node, path } of pass % 2 === 0 ? nodes : nodes.toReversed())
      sums[kind] += await cpuPerRequest(node, path);
  const measured = PROCESSES * passes;
  return { alone: sums.alone / measured, together: sums.together / measured };
}

/** Each node of a fleet has an object of its own, so that none comes from a neighbour. */
function pathOf(index: number): string {
  return knownPath(`hit${index}`, 10_000);
}

async function cpuPerRequest(node: FleetNode, path: string): Promise<number> {
  const { requests } = await node.status();
  const before = cpuMicroseconds(node.pid);
  const url = `http://127.0.0.1:${node.port}${path}`;
  const { errors } = await load(url, { connections: 32, seconds: SECONDS });
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
