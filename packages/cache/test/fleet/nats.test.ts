/**
 * Nodes that find each other and exchange summaries through a real NATS server: with workers and
 * without, while nodes are killed and come back, and while the server is killed and comes back.
 */

import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { expect, test } from 'vitest';
import { cleanUp, until } from '../node/scratch.ts';
import { offer, share, startFleet, startKnownOrigin, statesOf } from './start-fleet.ts';

/** Ten times two heartbeats. */
const CURRENT_MS = 100_000;

async function startNatsFleet(origin: string, workers = 1): Promise<{ fleet: Fleet; server: NatsServer }> {
  const server = await NatsServer.start();
  cleanUp(() => server[Symbol.asyncDispose]());
  const fleet = await startFleet({
    nodes: 3,
    origin,
    settings: (index) => ({
      peer: [],
      nats: server.url,
      natsFleet: 'test',
      workers: index === 0 ? workers : 1,
    }),
  });
  return { fleet, server };
}

test.each([
  ['one process', 1],
  ['two workers', 2],
])(
  'nodes find each other through NATS and serve each other (%s)',
  async (_what, workers) => {
    const origin = await startKnownOrigin();
    const { fleet } = await startNatsFleet(origin.url, workers);
    const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
    expect(await statesOf(first)).toEqual({ 'node-1': 'up', 'node-2': 'up' });
    await share(second, first, 'second');
    await share(first, third, 'first');
    // The first test builds the program: at a load of 33 on two cores it took longer than 120 s.
  },
  300_000,
);

test('a node that leaves is down at once, and one that is killed and starts again is current', async () => {
  const origin = await startKnownOrigin();
  const { fleet } = await startNatsFleet(origin.url);
  const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  await third.stop();
  await until('it is down', async () => (await statesOf(first))['node-2'] === 'down', 30_000);
  await second.kill();
  await until('it is silent', async () => (await statesOf(first))['node-1'] === 'down', CURRENT_MS);
  await Promise.all([second.start(), third.start()]);
  await fleet.untilCurrent(CURRENT_MS);
  await share(third, second, 'back');
});

test('kill -9 of the server: clients go on, and all nodes are current again after its restart', async () => {
  const origin = await startKnownOrigin();
  const { fleet, server } = await startNatsFleet(origin.url);
  const [first, second] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  await share(second, first, 'before');
  await server.kill();
  await until('all are down', async () =>
    (await Promise.all(fleet.nodes.map(statesOf))).every((states) =>
      Object.values(states).every((state) => state === 'down'),
    ),
  );
  // What is stored meanwhile cannot be told, and is known afterwards.
  const path = knownPath('meanwhile', 5000);
  await offer(second, path);
  expect(await checkedGet(first.port, knownPath('other', 5000))).toMatchObject({ status: 200, wrong: null });
  await server.start();
  await fleet.untilCurrent(CURRENT_MS);
  await first.untilHeard(second);
  await share(first, second, 'after');
});
