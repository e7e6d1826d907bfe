/**
 * `cache --group-find` with real nodes of the built command over a NATS server: a node of a new
 * group owns keys whose objects lie in the other groups, and finds them there.
 */

import { until } from '@bloomery/testkit/eventually';
import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { expect, test } from 'vitest';
import { COMMAND } from '../run-command.ts';

const OBJECTS = 24;
const WITHIN_MS = 120_000;

interface Groups {
  readonly others: readonly { readonly isOwner: boolean; readonly members: number }[];
  readonly finds: { readonly questions: number; readonly named: number } | null;
}

async function groupsOf(node: FleetNode): Promise<Groups> {
  return (await node.status()).cooperation!.groups as unknown as Groups;
}

/** Waits until each of these nodes knows the groups of all the others. */
async function untilAgreed(nodes: readonly FleetNode[]): Promise<void> {
  const isAgreed = async (node: FleetNode) => {
    const { others } = await groupsOf(node);
    return (
      others.length === nodes.length - 1 && others.every(({ isOwner, members }) => isOwner && members === 1)
    );
  };
  await until(
    'the groups to know each other',
    async () => (await Promise.all(nodes.map(isAgreed))).every(Boolean),
    WITHIN_MS,
  );
}

/**
 * Fetches from the origin for objects of two groups that a node of a third one asks for, and the
 * finds of that node.
 */
async function fetchesOfNewcomer(groupFind: boolean, workers: number) {
  await using origin = await ThrottledOrigin.start();
  await using server = await NatsServer.start();
  await using fleet = await Fleet.start({
    nodes: 3,
    program: (file) => [COMMAND, 'cache', '--quiet', '--config', file],
    settings: (index) => ({
      upstream: [`/=${origin.url}/`],
      peer: [],
      nats: server.url,
      group: `rack-${index}`,
      groupPatience: '3s',
      groupFind,
      // A deadline that a busy machine misses is no fault here.
      peerBudget: '20s',
      workers: index === 2 ? workers : 1,
    }),
  });
  const [first, second, newcomer] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  await newcomer.stop();
  const old = [first, second];
  // The list of a group that is gone counts for three times the patience.
  await untilAgreed(old);
  const paths = Array.from({ length: OBJECTS }, (_, each) => knownPath(`find/${each}`, 2000));
  for (const path of paths)
    for (const node of old) expect(await checkedGet(node.port, path)).toMatchObject({ isWhole: true });
  await newcomer.start();
  await untilAgreed(fleet.nodes);
  const before = origin.requests.length;
  if (groupFind)
    // The directory answers when it has heard what the others hold.
    await until(
      'the newcomer to find an object',
      async () => {
        const path = knownPath(`probe/${Date.now()}`, 1000);
        expect(await checkedGet(first.port, path)).toMatchObject({ isWhole: true });
        expect(await checkedGet(newcomer.port, path)).toMatchObject({ isWhole: true });
        return (await groupsOf(newcomer)).finds!.named > 0;
      },
      WITHIN_MS,
    );
  for (const path of paths) expect(await checkedGet(newcomer.port, path)).toMatchObject({ isWhole: true });
  const refetched = origin.requests.slice(before).filter(({ path }) => paths.includes(path));
  return { refetched: refetched.length, finds: (await groupsOf(newcomer)).finds };
}

test('a node of a new group finds objects in other groups, which it would fetch as their owner', {
  timeout: 5 * WITHIN_MS,
}, async () => {
  const without = await fetchesOfNewcomer(false, 1);
  // A third of 24 keys has the new group as its owner. All of them elsewhere: once in 17,000.
  expect(without.refetched).toBeGreaterThan(0);
  expect(without.finds).toBe(null);
  for (const workers of [1, 2]) {
    const found = await fetchesOfNewcomer(true, workers);
    expect(found.finds!.named).toBeGreaterThanOrEqual(OBJECTS);
    expect(found.refetched).toBe(0);
  }
});
