/**
 * Agreement: the same short trace is played to real processes and in the simulator, and the counts
 * are compared. Requests follow the clock of the trace in both, the origin takes 50 ms for a head
 * in both, and the caches are so small that most objects are evicted.
 *
 * 6.25 requests per second at each node are slow enough for 16 processes on two cores: they take
 * two thirds of one core. On a machine that is busy with other work, neighbours miss their
 * deadlines of 20 ms. Each of these failures costs a fetch from the origin that the simulator does
 * not have; the table shows their number.
 *
 * Nodes that do not know each other need no time for summaries, so their trace is four times as
 * fast. Their row shows whether stores and costs agree, before any cooperation.
 */

import { zipfTrace } from '../../packages/cache/src/simulation/index.ts';
import {
  type ComparedCount,
  comparedCounts,
  simulateMeasured,
} from '../../packages/cache/test/fleet/simulate-measured.ts';
import { measureTrace } from '../../packages/testkit/src/fleet/measure-trace.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import { met, startBenchFleet } from './bench-fleet.ts';

const ORIGIN_MS = 50;
const RATE_PER_NODE = 6.25;
const MOST_DIFFERENCE = 0.05;
/** Objects above an eighth of the memory would not be stored. */
const LONGEST_BYTES = 100_000;

/** Ways to cooperate, as settings of real nodes and as a policy of the simulator. */
const WAYS = [
  { name: 'default: 10 % copies', copies: 0.1, cooperates: true, speed: 1 },
  { name: 'single copies', copies: 0, cooperates: true, speed: 1 },
  { name: 'alone', copies: 0, cooperates: false, speed: 4 },
] as const;

interface Setting {
  readonly nodes: number;
  readonly objects: number;
  readonly requests: number;
  readonly memory: string;
  readonly runs: number;
}

const FULL: Setting = { nodes: 16, objects: 4000, requests: 20_000, memory: '2MB', runs: 2 };
const QUICK: Setting = { nodes: 4, objects: 1000, requests: 1500, memory: '1MB', runs: 1 };

export async function agreementTable(isQuick: boolean): Promise<string[]> {
  const setting = isQuick ? QUICK : FULL;
  const { nodes, objects, requests, memory, runs } = setting;
  const lines = [
    `${nodes} processes with ${memory} of memory each, ${requests.toLocaleString('en')} requests by Zipf's law (0.8) for ${objects.toLocaleString('en')} objects (lognormal lengths of 12 kB on average, cut at 100 kB), ${RATE_PER_NODE} requests per second at each node (alone: four times as many), an origin of ${ORIGIN_MS} ms. "Difference" is the real count compared with the simulated one.`,
  ];
  for (const way of isQuick ? WAYS.slice(0, 1) : WAYS)
    for (let run = 1; run <= (way.copies > 0 ? runs : 1); run++)
      lines.push('', ...(await compare(way, setting, run)));
  return lines;
}

async function compare(way: (typeof WAYS)[number], setting: Setting, run: number): Promise<string[]> {
  const { nodes, objects, requests, memory } = setting;
  const { name, copies, cooperates, speed } = way;
  const wanted = {
    objects,
    requests,
    nodes,
    ratePerNode: RATE_PER_NODE * speed,
    meanBytes: 12_000,
    seed: run,
  };
  const trace = [...zipfTrace(wanted)].map((request) => ({
    ...request,
    bytes: Math.min(request.bytes, LONGEST_BYTES),
  }));
  await using origin = await ThrottledOrigin.start({ headDelayMs: ORIGIN_MS });
  await using fleet = await startBenchFleet({
    nodes,
    origin: origin.url,
    cooperates,
    settings: () => ({ memory, ...(cooperates ? { peerCopies: `${100 * copies}%` } : {}) }),
  });
  const real = await measureTrace(fleet, origin, trace, { warmRounds: 20 });
  const { played, counts, overhead } = real;
  if (played.broken > 0 || played.wrong.length > 0)
    throw new Error(
      `Cannot compare: expected whole answers, got ${played.broken} broken, ${played.wrong[0]}`,
    );
  const simulated = await simulateMeasured(real, {
    policy: cooperates ? { kind: 'summaries', copies } : { kind: 'alone' },
    nodes,
    trace,
    originMs: ORIGIN_MS,
  });
  const { ownBytes, copyBytes } = overhead;
  const costs = `${ownBytes.toFixed(0)} bytes${copyBytes === null ? '' : `, and ${copyBytes.toFixed(0)} of a copy`}`;
  return [
    `**${name}**, seed ${run}. An object takes its body and ${costs}. Neighbours that failed: ${counts.failures}. The latest request was ${played.latestMs.toFixed(0)} ms late. All ${played.requests.toLocaleString('en')} bodies were right.`,
    '',
    '| count | real | simulated | difference | wanted |',
    '|---|---:|---:|---:|---|',
    ...comparedCounts(real, simulated, nodes)
      .filter((row) => row.real > 0 || row.simulated > 0)
      .map(line),
  ];
}

function line({ name, real, simulated, isDecisive }: ComparedCount): string {
  const difference = real / simulated - 1;
  const wanted = isDecisive ? `at most 5 %: ${met(Math.abs(difference) <= MOST_DIFFERENCE)}` : '–';
  return `| ${name} | ${real.toLocaleString('en')} | ${simulated.toLocaleString('en')} | ${(100 * difference).toFixed(1)} % | ${wanted} |`;
}
