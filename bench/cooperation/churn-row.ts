/**
 * Churn: nodes over NATS leave, are killed and come back at random while clients ask, and the same
 * schedule and the same requests are played in the simulator. Every byte of every answer is
 * checked.
 *
 * The simulated nodes have the capacity and the costs that the real ones report, and nothing is
 * fitted (simulate-measured.ts). Both sides know a kill by the silence that follows it; a real node
 * hears of it earlier if it asks the dead one as an owner. Neighbours that miss their deadlines on
 * a busy machine cost fetches from the origin that the simulator does not have. The table shows
 * their number, which contains the questions to nodes that were killed a moment ago.
 */

import { zipfTrace } from '../../packages/cache/src/simulation/index.ts';
import {
  type ComparedCount,
  comparedCounts,
  simulateMeasured,
} from '../../packages/cache/test/fleet/simulate-measured.ts';
import { until } from '../../packages/testkit/src/eventually.ts';
import { churnSchedule, traceUnderChurn } from '../../packages/testkit/src/fleet/churn-schedule.ts';
import type { Fleet } from '../../packages/testkit/src/fleet/fleet.ts';
import { playChurn, wrongMembers } from '../../packages/testkit/src/fleet/play-churn.ts';
import { storedOverhead } from '../../packages/testkit/src/fleet/stored-overhead.ts';
import { warmFleet } from '../../packages/testkit/src/fleet/warm-fleet.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import { NatsServer } from '../../packages/testkit/src/programs/nats-server.ts';
import { met, startBenchFleet } from './bench-fleet.ts';

const ORIGIN_MS = 50;
const LONGEST_BYTES = 100_000;
const MEMORY = '1MB';
/** Three heartbeats, and the time in which this program asks all nodes. */
const WANTED_SECONDS = 30;
const MOST_WAIT_MS = 300_000;
const COUNTS = [
  'answers from the own store',
  'answers from a neighbour',
  'fetches from the origin',
  'false hits',
];

const FULL = { nodes: 32, minutes: 10, ratePerNode: 1, objects: 4000, everyMs: 6000, mostDown: 8 };
const QUICK = { nodes: 6, minutes: 0.75, ratePerNode: 4, objects: 600, everyMs: 2500, mostDown: 2 };

export async function churnTable(isQuick: boolean): Promise<string[]> {
  const { nodes, minutes, ratePerNode, objects, everyMs, mostDown } = isQuick ? QUICK : FULL;
  const churn = { nodes, durationMs: 60_000 * minutes, everyMs, mostDown, readyMs: 10_000, seed: 1 };
  const changes = churnSchedule(churn);
  const requests = Math.round(nodes * ratePerNode * 60 * minutes);
  const wanted = { objects, requests, nodes, ratePerNode, meanBytes: 12_000, seed: 1 };
  const cut = [...zipfTrace(wanted)].map((request) => ({
    ...request,
    bytes: Math.min(request.bytes, LONGEST_BYTES),
  }));
  const trace = traceUnderChurn(cut, changes, churn);
  await using origin = await ThrottledOrigin.start({ headDelayMs: ORIGIN_MS });
  await using server = await NatsServer.start();
  await using fleet = await startBenchFleet({
    nodes,
    origin: origin.url,
    atOnce: 4,
    settings: () => ({ peer: [], nats: server.url, memory: MEMORY, shutdownTimeout: '30s' }),
  });
  await warmFleet(fleet, 2);
  const sample = trace.slice(0, 40).map(({ bytes }) => bytes);
  const overhead = await storedOverhead(fleet.nodes, sample);
  const { capacityBytes } = (await fleet.nodes[0]!.status()).stores.memory!;
  origin.requests.length = 0;
  const played = await playChurn(fleet, trace, changes);
  const rightSeconds = await untilRight(fleet);
  const real = {
    played: { requests, bytes: 0, broken: played.failed.length, wrong: played.wrong, tookMs: 0, latestMs: 0 },
    counts: played.counts,
    originFetches: origin.requests.length,
    originBytes: origin.requests.reduce((sum, { bytes }) => sum + bytes, 0),
    capacityBytes,
    overhead,
  };
  const policy = { kind: 'summaries', sharesReceivers: false } as const;
  const simulated = await simulateMeasured(real, { policy, nodes, trace, originMs: ORIGIN_MS, changes });
  const rows = comparedCounts(real, simulated, nodes).filter(({ name }) => COUNTS.includes(name));
  const { join, leave, kill } = played.changes;
  return [
    `${nodes} processes over NATS with ${MEMORY} of memory each for ${minutes} minutes: ${leave} left by SIGTERM, ${kill} were killed by SIGKILL, ${join} joined, and at most ${mostDown} were down at a time. ${requests.toLocaleString('en')} requests by Zipf's law (0.8) for ${objects.toLocaleString('en')} objects, ${ratePerNode} requests per second and node, an origin of ${ORIGIN_MS} ms.`,
    '',
    '| what | measured | wanted |',
    '|---|---:|---|',
    `| answers with a wrong byte | ${played.wrong.length} | none: ${met(played.wrong.length === 0)} |`,
    `| failed answers of nodes that were up | ${played.failed.length} | none: ${met(played.failed.length === 0)} |`,
    `| answers cut by the kill of their node | ${played.cut} | – |`,
    `| nodes that left with another exit code than 0 | ${played.badExits.length} | none: ${met(played.badExits.length === 0)} |`,
    `| all lists of members right, after the last request | ${rightSeconds.toFixed(1)} s | at most ${WANTED_SECONDS} s: ${met(rightSeconds <= WANTED_SECONDS)} |`,
    '',
    `The latest request was ${played.latestMs.toFixed(0)} ms late. Questions to neighbours that failed: ${played.counts.failures}. "Share" is the difference as a share of all requests.`,
    '',
    '| count | real | simulated | difference | share |',
    '|---|---:|---:|---:|---:|',
    ...rows.map((row) => line(row, requests)),
    '',
    `Of all requests, ${agreement(rows, requests).toFixed(2)} % have another source in the simulator (half of the sum of the differences of the three sources).`,
    ...played.failed.slice(0, 5),
  ];
}

/** The time until all nodes have the right neighbours, in seconds. */
async function untilRight(fleet: Fleet): Promise<number> {
  const began = performance.now();
  const isRight = async () => (await wrongMembers(fleet)).length === 0;
  await until('the lists of all nodes to be right', isRight, MOST_WAIT_MS);
  return (performance.now() - began) / 1000;
}

function agreement(rows: readonly ComparedCount[], requests: number): number {
  const sources = rows.filter(({ name }) => name !== 'false hits');
  const apart = sources.reduce((sum, { real, simulated }) => sum + Math.abs(real - simulated), 0);
  return (100 * apart) / 2 / requests;
}

function line({ name, real, simulated }: ComparedCount, requests: number): string {
  const difference = simulated === 0 ? '–' : `${(100 * (real / simulated - 1)).toFixed(1)} %`;
  const share = `${((100 * (real - simulated)) / requests).toFixed(2)} %`;
  return `| ${name} | ${real.toLocaleString('en')} | ${simulated.toLocaleString('en')} | ${difference} | ${share} |`;
}
