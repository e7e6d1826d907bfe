/**
 * The numbers of docs/guide/ten-thousand.md: 10,000 nodes in groups, by the size of a group. Bytes
 * of updates come from `planSummary`, memory from summaries that are built here, bytes of beats and
 * lists from their texts, processor time from bench/results/summaries.md, and the shares of
 * requests from simulated rows. The page says which of them are extrapolated.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { SetPublisher, SetSubscriber } from 'bloomery/wire';
import { planSummary } from '../../packages/bloomery/src/math/plan/plan-summary.ts';
import { universeFor } from '../../packages/cache/src/peers/decisions/summary-universe.ts';
import { NeighbourSummaries } from '../../packages/cache/src/peers/neighbour-summaries.ts';
import { SlicedWork } from '../../packages/cache/src/peers/sliced-work.ts';
import { type Figure, originShare } from './fleet-figures.ts';
import { byteText } from './fleet-plan.ts';
import { otherGroup, roundTrips } from './page-groups.ts';
import type { SimulatedRows } from './simulated-rows.ts';

const NODES = 10_000;
const GROUP_SIZES = [32, 64, 128];
const OBJECTS = 100_000;
const FALSE_CANDIDATES = 0.02;
/** Share of its objects that a node replaces per second, and tells once a second. */
const CHANGED = 0.01;
const BEAT_S = 5;
const LIST_S = 30;
const SUMMARIES = fileURLToPath(new URL('../results/summaries.md', import.meta.url));

/** The tables of the page. */
export function tenThousand(rows: SimulatedRows): string[] {
  const perNeighbour = memoryPerNeighbour();
  const { publisherMs, subscriberMs } = updateTimes();
  const costs = GROUP_SIZES.map((size) => groupCosts(size));
  const line = (title: string, of: (cost: GroupCosts) => string) =>
    `| ${title} | ${costs.map(of).join(' | ')} |`;
  return [
    `| ${NODES.toLocaleString('en-US')} nodes | ${GROUP_SIZES.map((size) => `groups of ${size}`).join(' | ')} |`,
    `|---|${'---:|'.repeat(GROUP_SIZES.length)}`,
    line('groups', ({ groups }) => String(groups)),
    line('updates in, and out, of a node per second', ({ neighbours }) => String(neighbours)),
    line('bytes of an update', ({ updateBytes }) => byteText(updateBytes)),
    line('bytes of updates in a node', (cost) => `${byteText(cost.neighbours * cost.updateBytes)}/s`),
    line('bytes of beats in a node', (cost) => `${byteText((cost.neighbours * BEAT_BYTES) / BEAT_S)}/s`),
    line(
      'bytes of lists of groups in a node',
      ({ groups, listBytes }) => `${byteText((groups * listBytes) / LIST_S)}/s`,
    ),
    line('memory for summaries of a node', ({ neighbours }) => byteText(neighbours * perNeighbour)),
    line('memory for lists of groups', ({ groups, listBytes }) => byteText(groups * listBytes)),
    line(
      'processor time for updates of a node',
      ({ neighbours }) => `${(neighbours * subscriberMs + publisherMs).toFixed(0)} ms/s`,
    ),
    line(
      'a server of NATS per group: messages in, out',
      ({ size, neighbours }) => `${size}, ${(size * neighbours).toLocaleString('en-US')} per second`,
    ),
    line(
      'a server of NATS per group: bytes in, out',
      (cost) =>
        `${byteText(cost.size * cost.updateBytes)}/s, ${byteText(cost.size * cost.neighbours * cost.updateBytes)}/s`,
    ),
    line(
      'between the servers of all groups: lists alone',
      ({ groups, listBytes }) => `${byteText((groups * listBytes) / LIST_S)}/s to each`,
    ),
    ...shares(rows),
  ];
}

interface GroupCosts {
  readonly size: number;
  readonly groups: number;
  readonly neighbours: number;
  readonly updateBytes: number;
  readonly listBytes: number;
}

function groupCosts(size: number): GroupCosts {
  const neighbours = size - 1;
  const plan = { capacity: OBJECTS, falseCandidates: FALSE_CANDIDATES, neighbours, changedFraction: CHANGED };
  const [{ deltaBytes }] = planSummary(plan).forms;
  const list = {
    group: 'group-100',
    claim: CLAIM,
    version: 1_700_000_000_000,
    members: Array.from({ length: size }, () => NODE_ID),
  };
  return {
    size,
    groups: Math.ceil(NODES / size),
    neighbours,
    updateBytes: deltaBytes,
    listBytes: JSON.stringify(list).length,
  };
}

/** A name as a node chooses it that was given none (`node/node-name.ts`). */
const NODE_ID = 'bloomery-01234567';
const CLAIM = { epoch: 1_700_000_000, leader: NODE_ID, stability: 86_400 };
const BEAT_BYTES = JSON.stringify({ stability: 86_400, claim: CLAIM }).length;

/** Neighbours with which the memory of one is measured. */
const MEASURED = 8;

/** Bytes that a node holds for one neighbour of 100,000 objects in a group of 64. */
function memoryPerNeighbour(): number {
  const universe = universeFor(OBJECTS, 63);
  const summaries = new NeighbourSummaries({
    limitBytes: 2 ** 33,
    work: new SlicedWork(systemClock),
    failed: (problem) => {
      throw problem;
    },
  });
  for (let member = 0; member < MEASURED; member++) {
    const publisher = new SetPublisher({ incarnation: 1, universe });
    for (let object = 0; object < OBJECTS; object++) publisher.addHash(hashKey(`${member}/${object}`));
    publisher.publish();
    const positions = new SetSubscriber({ maxPositions: OBJECTS });
    const outcome = positions.receive(publisher.full());
    if (positions.size < 0.99 * OBJECTS)
      throw new Error(
        `Cannot measure a summary: expected ${OBJECTS} positions, got ${positions.size} (${outcome})`,
      );
    summaries.reset({ address: `http://node-${member}:3129`, keyId: 0, positions });
  }
  return summaries.byteLength / MEASURED;
}

/** Milliseconds of an update with 1,000 changes of 100,000 keys, by `npm run bench:summaries`. */
function updateTimes(): { readonly publisherMs: number; readonly subscriberMs: number } {
  const found = /^\| 100,000 \| 1,000 \| ([\d.]+) \/ ([\d.]+) \|/m.exec(readFileSync(SUMMARIES, 'utf8'));
  if (found === null)
    throw new Error(
      `Cannot write the page: expected the time of an update of 100,000 keys, got none (${SUMMARIES})`,
    );
  return { publisherMs: Number(found[1]), subscriberMs: Number(found[2]) };
}

const LARGEST = '1024 nodes';

/** The shares of requests in the largest fleet that was simulated. */
function shares(rows: SimulatedRows): string[] {
  const of = (name: string, figure: Figure) => rows.mean('groups', `${LARGEST}: ${name}`, figure);
  const groups = GROUP_SIZES.filter((size) => of(`groups of ${size}, group owner`, originShare) !== null);
  const hashing = of('consistent hashing', originShare);
  if (groups.length === 0 || hashing === null) return [];
  const percent = (value: number | null) => `${(100 * value!).toFixed(1)} %`;
  return [
    '',
    `| ${LARGEST}, simulated | origin | from other groups | round trips between nodes per request |`,
    '|---|---:|---:|---:|',
    `| consistent hashing | ${percent(hashing)} | – | ${of('consistent hashing', roundTrips)!.toFixed(2)} |`,
    ...groups.map((size) => {
      const name = `groups of ${size}, group owner`;
      return `| ${name} | ${percent(of(name, originShare))} | ${percent(of(name, otherGroup))} | ${of(name, roundTrips)!.toFixed(2)} |`;
    }),
  ];
}
