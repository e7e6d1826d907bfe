/**
 * Real processes over HTTP and over NATS: announce, locate, withdraw, kill -9, partition. `npm
 * test` runs 8 of them, the full form 32.
 */

import { EFFORT } from '@bloomery/testkit/effort';
import { eventually } from '@bloomery/testkit/eventually';
import { expect, test } from 'vitest';
import { chooseNeighbours, type Located } from '../../src/routing/index.ts';
import { ProcessFleet } from './process-fleet.ts';
import { RouteFleet } from './route-fleet.ts';

const COUNT = EFFORT > 1 ? 32 : 8;
const KEYS = 3;
/** All times grow with the number of processes, which share the cores of one machine. */
const SCALE = COUNT / 8;
const OPTIONS = {
  plan: { objectsPerNode: 20 },
  intervalMs: 300 * SCALE,
  beatMs: 2000 * SCALE,
  heartbeatMs: 1000 * SCALE,
};
const WITHIN_MS = 100_000 * SCALE;

/** Waits until a check passes. Its last failure is the one that is shown. */
async function passes(check: () => Promise<void>): Promise<void> {
  let failure: unknown;
  const isPassed = async () => {
    try {
      await check();
      return true;
    } catch (error) {
      failure = error;
      return false;
    }
  };
  await eventually(isPassed, WITHIN_MS, 'a check').catch(() => {
    throw failure;
  });
}

/** Hops from a node to another along the neighbours that nodes choose. */
function distance(from: number, to: number): number {
  const ids = Array.from({ length: COUNT }, (_, i) => `n${i}`);
  let front = [ids[from]];
  for (let hops = 0; hops < COUNT; hops++) {
    if (front.includes(ids[to])) return hops;
    front = [...new Set(front.flatMap((id) => [id, ...chooseNeighbours(id, ids, 4)]))];
  }
  return Number.POSITIVE_INFINITY;
}

/** An answer without its address, which differs between networks. */
function answerOf(located: Located): object {
  if (located.status !== 'found') return located;
  const { status, node, by, hops } = located;
  return { status, node, by, hops };
}

/** The answers of the same nodes to the same questions in the simulator. */
async function simulatedAnswers(keyOf: (number: number, i: number) => string) {
  const fleet = new RouteFleet(1, COUNT);
  await fleet.pass(10_000);
  const pairs = Array.from({ length: COUNT * KEYS }, (_, n) => [Math.floor(n / KEYS), n % KEYS] as const);
  await fleet.during(() =>
    Promise.all(pairs.map(([number, i]) => fleet.node(number).announce(keyOf(number, i)))),
  );
  await fleet.pass(10_000);
  const located = await fleet.during(() =>
    Promise.all(
      pairs.map(([number, i]) => fleet.node(number).locate(keyOf((number * 5 + 3 * i + 1) % COUNT, i))),
    ),
  );
  return new Map(pairs.map(([number, i], at) => [`${number} ${i}`, answerOf(located[at])]));
}

test.each(['http', 'nats'] as const)(
  'processes over %s find, lose and find again',
  { timeout: 5 * WITHIN_MS },
  async (over) => {
    await using fleet = await ProcessFleet.start(COUNT, over, OPTIONS);
    const { nodes } = fleet;
    await passes(async () => {
      for (const node of nodes) {
        const { members, neighbours } = await node.status();
        expect(members.filter(({ state }) => state === 'up')).toHaveLength(COUNT - 1);
        expect(neighbours).toHaveLength(4);
      }
    });

    // Announced and confirmed: every node finds every key, and none that is not there.
    const keyOf = (number: number, i: number) => `key ${i} of ${number}`;
    await passes(async () => {
      for (const [number, node] of nodes.entries())
        for (let i = 0; i < KEYS; i++) expect(await node.announce(keyOf(number, i))).toBe(true);
    });
    // Each answer is that of the simulator: the holder, the tier, the hops. Filters find a key
    // exactly if it is within three hops, and over a shortest way; the directory finds the others.
    const simulated = await simulatedAnswers(keyOf);
    await passes(async () => {
      for (const [number, node] of nodes.entries())
        for (let i = 0; i < KEYS; i++) {
          const holder = (number * 5 + 3 * i + 1) % COUNT;
          const hops = distance(number, holder);
          const way = hops === 0 ? { by: 'self' } : hops <= 3 ? { by: 'filters', hops } : { by: 'directory' };
          const answer = answerOf(await node.locate(keyOf(holder, i)));
          expect(answer).toMatchObject({ status: 'found', node: `n${holder}`, ...way });
          expect(answer).toEqual(simulated.get(`${number} ${i}`));
        }
      expect(await nodes[0].locate('nowhere')).toMatchObject({ status: 'absent' });
    });

    // Withdrawn: absent, by a directory that is complete.
    expect(await nodes[1].withdraw(keyOf(1, 0))).toBe(true);
    await passes(async () => expect((await nodes[2].locate(keyOf(1, 0))).status).toBe('absent'));

    // Cut in two: keys of the other half are unknown, those of the own half are found.
    fleet.partition();
    const far = COUNT - 1;
    await passes(async () => {
      expect((await nodes[0].locate(keyOf(far, 1))).status).toBe('unknown');
      expect((await nodes[0].locate(keyOf(2, 1))).status).toBe('found');
      expect((await nodes[0].locate('nowhere')).status).not.toBe('found');
    });
    fleet.heal();
    await passes(async () => expect(await nodes[0].locate(keyOf(far, 1))).toMatchObject({ node: `n${far}` }));

    // Killed: its keys are never found, those of the others are.
    nodes[3].kill();
    await passes(async () => {
      expect((await nodes[0].locate(keyOf(3, 1))).status).not.toBe('found');
      expect((await nodes[0].locate(keyOf(4, 1))).status).toBe('found');
    });
  },
);
