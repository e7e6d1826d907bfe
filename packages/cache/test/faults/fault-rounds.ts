/**
 * The faults of a network, one after the other, on a fleet of three real processes in namespaces:
 * loss of 1, 10 and 30 %, little bandwidth, delayed, stalled and cut connections, kill -9 of a node
 * and of the NATS server, and a partition that lasts until both sides have given each other up.
 *
 * Promised: no wrong byte in any answer, no request that fails, and everyone current after the
 * fault. The times are printed; a deadline ten times as long is asserted.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { CheckedCrowd } from '@bloomery/testkit/faults/checked-crowd';
import { faultsOf } from '@bloomery/testkit/faults/fleet-fault';
import { NetworkFleet } from '@bloomery/testkit/faults/network-fleet';
import { type FaultFigures, playFault, WANTED_MS } from '@bloomery/testkit/faults/play-fault';
import { World } from '@bloomery/testkit/origins/chaos-world';
import { Random } from '@bloomery/testkit/statistics';
import { expect } from 'vitest';
import { bundleProgram } from '../node/cache-program.ts';
import { cleanUp, scratchFolder } from '../node/scratch.ts';

/** Answers of the whole run, checked to the byte: 10,000 over each transport. */
const ANSWERS = withEffort(10_000, 1000);
const CLIENTS = 12;
/** Time for the test: it takes 40 s on an idle machine, and most of it is the answers. */
export const SURVIVAL_MS = 300_000 + 60 * ANSWERS;
/** Answers during each fault, at least. */
const DURING = 300;

export async function surviveFaults(transport: 'http' | 'nats'): Promise<void> {
  const seeded = new Random(0x6e657473);
  const random = () => seeded.bits() / 2 ** 32;
  const world = new World({
    objects: 600,
    largeBytes: 20_000,
    changes: 0.02,
    random,
  });
  const program = bundleProgram(scratchFolder());
  await using fleet = await NetworkFleet.start({
    nodes: 3,
    transport,
    program: (file) => [program, JSON.stringify({ file })],
    // Too small for all objects.
    settings: () => ({ memory: '6MB' }),
    serveOrigin: (listener) => world.listen(listener),
  });
  cleanUp(() => world.close());
  await using crowd = new CheckedCrowd({ world, nodes: fleet.nodes, clients: CLIENTS, random });
  await crowd.more(DURING);
  const figures: FaultFigures[] = [];
  for (const fault of faultsOf(fleet)) {
    const hold = async () => {
      await crowd.more(DURING);
      const sides = fault.sides?.(fleet);
      if (sides !== undefined) await fleet.untilApart(...sides);
    };
    figures.push(await playFault(fleet, crowd, fault, hold));
    expect([crowd.wrong.slice(0, 5), crowd.failed.slice(0, 5)], fault.name).toEqual([[], []]);
  }
  await crowd.more(Math.max(DURING, ANSWERS - crowd.answers));
  await crowd[Symbol.asyncDispose]();
  console.log(report(transport, crowd, figures));
  expect([crowd.wrong, crowd.failed]).toEqual([[], []]);
  for (const node of fleet.nodes) expect(node.said, node.name).toEqual([]);
  const statuses = await Promise.all(fleet.nodes.map((node) => node.status()));
  const peers = statuses.flatMap(({ cooperation }) => cooperation?.peers ?? []);
  // The faults met traffic between nodes: it was not all hits and origin.
  expect(Math.min(...peers.map(({ trueHits }) => trueHits))).toBeGreaterThan(0);
  expect(Math.max(...peers.map(({ failures }) => failures))).toBeGreaterThan(0);
}

function report(transport: string, crowd: CheckedCrowd, figures: readonly FaultFigures[]): string {
  const { answers, bytes, hits, orphans } = crowd;
  const rows = figures.map(
    ({ name, heldMs, answers: during, currentMs }) =>
      `  ${name}: ${during} answers in ${seconds(heldMs)}, current after ${seconds(currentMs)}`,
  );
  const total = `${transport}: ${answers} answers, ${bytes} bytes, ${hits} hits, ${orphans} of a node that was killed`;
  return [`${total}; wanted: current after ${seconds(WANTED_MS)}`, ...rows].join('\n');
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
