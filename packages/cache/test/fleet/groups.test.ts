/**
 * Six real nodes in three groups over a real NATS server: objects come from other groups and not
 * from the origin, while a leader is killed, while nodes leave, and when they come back. The budget
 * is long, so that a deadline that a busy machine misses is no fault.
 */

import { type CheckedAnswer, checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetGroups, FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import type { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { expect, test } from 'vitest';
import { cleanUp, until } from '../node/scratch.ts';
import { startFleet, startKnownOrigin, statesOf, untilGiven } from './start-fleet.ts';

const GROUPS = ['rack-a', 'rack-b', 'rack-c'];
/** Ten times the patience of the groups, and the time in which NATS sees a dead node. */
const AGREED_MS = 120_000;

async function startGroups(origin: string, groups: readonly (string | null)[], workers = 1): Promise<Fleet> {
  const server = await NatsServer.start();
  cleanUp(() => server[Symbol.asyncDispose]());
  return startFleet({
    nodes: groups.length,
    origin,
    isCurrent: false,
    settings: (index) => ({
      peer: [],
      nats: server.url,
      ...(groups[index] === null ? {} : { group: groups[index], groupPatience: '3s' }),
      peerBudget: '20s',
      workers: index === 0 ? workers : 1,
    }),
  });
}

async function groupsOf(node: FleetNode): Promise<FleetGroups> {
  return (await node.status()).cooperation!.groups!;
}

/** Waits until all running nodes know the leader and the members of each group. */
async function untilAgreed(fleet: Fleet): Promise<void> {
  const running = fleet.nodes.filter((node) => node.isRunning);
  const sizeOf = (group: string) => running.filter(({ index }) => GROUPS[index % 3] === group).length;
  for (const node of running)
    await until(
      `${node.name} to know all groups`,
      async () => {
        const { cooperation } = await node.status();
        const { leader, members, group, others } = cooperation!.groups!;
        const near = cooperation!.peers.filter(({ state, masked }) => state === 'up' && masked === null);
        const isNear = leader !== null && members === sizeOf(group) && near.length === members - 1;
        return (
          isNear &&
          others.length === 2 &&
          others.every((each) => each.isOwner && each.members === sizeOf(each.group))
        );
      },
      AGREED_MS,
    );
}

function expectWhole(answer: CheckedAnswer): void {
  expect(answer).toMatchObject({ status: 200, wrong: null, isWhole: true });
}

/** Requests for an object that reached the origin. */
function fetchesOf(origin: ThrottledOrigin, path: string): number {
  return origin.requests.filter((request) => request.path === path).length;
}

/** Gets an object at one node and then at the others, until the origin has seen one fetch alone. */
async function serveOnce(origin: ThrottledOrigin, nodes: readonly FleetNode[], word: string): Promise<void> {
  await untilGiven(`one fetch for ${nodes.length} nodes (${word})`, async (tried) => {
    const path = knownPath(`${word}/${tried}`, 5000);
    for (const node of nodes) expectWhole(await checkedGet(node.port, path));
    return fetchesOf(origin, path) === 1;
  });
}

/** Lets clients ask nodes for new objects, until a condition holds. All answers must be whole. */
async function askUntil(
  nodes: readonly FleetNode[],
  word: string,
  isOver: () => Promise<boolean>,
): Promise<void> {
  let asked = 0;
  await until(
    word,
    async () => {
      const path = knownPath(`${word}/${asked++}`, 3000);
      for (const answer of await Promise.all(nodes.map(({ port }) => checkedGet(port, path))))
        expectWhole(answer);
      return isOver();
    },
    AGREED_MS,
  );
}

test('an object is fetched once for three groups, and a killed leader is replaced without a failed answer', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startGroups(origin.url, [...GROUPS, ...GROUPS]);
  const { nodes } = fleet;
  await untilAgreed(fleet);
  // Nodes follow the summaries of their own group alone.
  expect(await statesOf(nodes[0]!)).toEqual({ 'node-3': 'up' });

  const paths = Array.from({ length: 12 }, (_, each) => knownPath(`spread/${each}`, 5000));
  for (const path of paths) for (const node of nodes) expectWhole(await checkedGet(node.port, path));
  const counts = await Promise.all(nodes.map(groupsOf));
  expect(counts.reduce((sum, { hits }) => sum + hits, 0)).toBeGreaterThan(0);
  expect(counts.reduce((sum, { fetched }) => sum + fetched, 0)).toBeGreaterThan(0);
  await serveOnce(origin, nodes, 'once');

  const before = (await groupsOf(nodes[1]!)).others.find(({ group }) => group === 'rack-a')!;
  const dead = nodes.find(({ name }) => name === before.leader)!;
  const rest = nodes.filter((node) => node !== dead);
  await dead.kill();
  await askUntil(rest, 'elected', async () => {
    const { leader, epoch } = (await groupsOf(nodes[1]!)).others.find(({ group }) => group === 'rack-a')!;
    return leader !== dead.name && epoch! > before.epoch!;
  });
  await untilAgreed(fleet);
  await serveOnce(origin, rest, 'without');

  // The node joins again, and the group keeps its name.
  await dead.start();
  await untilAgreed(fleet);
  const after = (await groupsOf(nodes[1]!)).others.find(({ group }) => group === 'rack-a')!;
  expect(after.epoch).toBeGreaterThan(before.epoch!);
  await serveOnce(origin, nodes, 'again');

  // A node that drains answers its last clients, and the others go on.
  const leaving = nodes[2]!;
  const others = nodes.filter((node) => node !== leaving);
  const stopped = leaving.stop();
  await askUntil(others, 'gone', async () => {
    const { up } = (await groupsOf(nodes[0]!)).others.find(({ group }) => group === 'rack-c')!;
    return up === 1;
  });
  await stopped;
  await untilAgreed(fleet);
  await serveOnce(origin, others, 'drained');
});

test('workers ask other groups, and nodes without a group stay among themselves', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startGroups(origin.url, ['rack-a', 'rack-b', null, null], 2);
  const [first, second, third, fourth] = fleet.nodes as [FleetNode, FleetNode, FleetNode, FleetNode];
  await until(
    'the groups to know each other',
    async () => {
      const both = await Promise.all([groupsOf(first), groupsOf(second)]);
      return both.every(
        ({ ungrouped, others }) => ungrouped === 2 && others.length === 1 && others[0]!.isOwner,
      );
    },
    AGREED_MS,
  );
  await serveOnce(origin, [first, second], 'second');
  await serveOnce(origin, [second, first], 'first');
  await until(
    'the others to know each other',
    async () => (await statesOf(third))['node-3'] === 'up',
    AGREED_MS,
  );
  expect(await statesOf(third)).toEqual({ 'node-3': 'up' });
  expect((await third.status()).cooperation?.groups).toBe(null);
  for (const node of [second, fourth]) expect(node.log.map(({ event }) => event)).toContain('groups-mixed');

  // A purge reaches all nodes of the fleet, in groups and without.
  const path = knownPath('purged', 3000);
  for (const node of fleet.nodes) expectWhole(await checkedGet(node.port, path));
  const before = fetchesOf(origin, path);
  const place = `http://127.0.0.1:${first.port}/.bloomery/purge?fleet=yes&url=${encodeURIComponent(path)}`;
  const purged = await fetch(place, { method: 'POST', headers: { 'Bloomery-Admin': '1' } });
  const { confirmed } = (await purged.json()) as { confirmed: string[] };
  expect(confirmed.toSorted()).toEqual(['node-1', 'node-2', 'node-3']);
  expectWhole(await checkedGet(fourth.port, path));
  expect(fetchesOf(origin, path)).toBe(before + 1);
});
