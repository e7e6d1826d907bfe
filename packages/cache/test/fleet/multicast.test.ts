/**
 * Nodes that find each other by a multicast group on loopback, without a list and without a broker:
 * with workers and without, while one leaves, one is killed and one joins. Loss is tested in
 * namespaces (multicast-loss.test.ts).
 */

import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { freeUdpPort } from '@bloomery/testkit/network/free-udp-port';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { expect, test } from 'vitest';
import { until } from '../node/scratch.ts';
import { share, startFleet, startKnownOrigin, statesOf, untilGiven } from './start-fleet.ts';

/** Ten times the three heartbeats after which a silent node is masked. */
const MASKED_MS = 150_000;

async function startMulticastFleet(origin: string, workers = 1): Promise<Fleet> {
  const group = `239.192.77.3:${await freeUdpPort()}`;
  return startFleet({
    nodes: 3,
    origin,
    settings: (index) => ({ peer: [], peerMulticast: group, workers: index === 0 ? workers : 1 }),
  });
}

test('nodes find each other by multicast and serve each other, one of them with two workers', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startMulticastFleet(origin.url, 2);
  const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  expect(await statesOf(first)).toEqual({ 'node-1': 'up', 'node-2': 'up' });
  await share(second, first, 'second');
  await share(first, third, 'first');
  const { cooperation } = await first.status();
  expect(cooperation?.peers.map(({ source }) => source)).toEqual(['multicast', 'multicast']);
  expect(cooperation?.multicast).toMatchObject({ isJoined: true, why: null, givenUp: 0, refused: {} });
  expect(cooperation?.multicast?.sent).toBeGreaterThan(0);
  const metrics = await (await fetch(`http://127.0.0.1:${first.port}/.bloomery/metrics`)).text();
  const sample = (name: string) =>
    Number(/ (\d+)$/.exec(metrics.split('\n').find((line) => line.startsWith(name))!)?.[1]);
  expect(sample('bloomery_cache_multicast_joined ')).toBe(1);
  expect(sample('bloomery_cache_multicast_published_total ')).toBeGreaterThan(0);
  expect(sample('bloomery_cache_multicast_messages_total{direction="sent"}')).toBeGreaterThan(0);
  expect(sample('bloomery_cache_multicast_messages_total{direction="received"}')).toBeGreaterThan(0);
  expect(sample('bloomery_cache_multicast_bytes_total{direction="received"}')).toBeGreaterThan(0);
  for (const name of ['missed', 'repaired', 'given_up'])
    expect(metrics).toContain(`# TYPE bloomery_cache_multicast_${name}_total counter`);
});

test('a node that leaves is down at once, a killed one is masked, and one that joins catches up', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startMulticastFleet(origin.url);
  const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  expect(await third.stop()).toBe(0);
  await until('it is down', async () => (await statesOf(first))['node-2'] === 'down', 30_000);
  expect((await first.peer('node-2'))?.masked).toBe('it is shutting down');
  await second.kill();
  // It is told by nothing but its silence.
  await until('it is silent', async () => (await statesOf(first))['node-1'] === 'down', MASKED_MS);
  // These objects went to the group when no other node was there to hear it.
  const paths = Array.from({ length: 40 }, (_, i) => knownPath(`before/${i}`, 1000));
  for (const path of paths) expect(await checkedGet(first.port, path)).toMatchObject({ status: 200 });
  await until('all are told', async () => (await first.status()).cooperation?.own.objects === paths.length);
  await third.start();
  await third.untilHeard(first, paths.length);
  await untilGiven('an object that was told before the join', async (tried) => {
    expect(await checkedGet(third.port, paths[tried]!)).toMatchObject({ status: 200, wrong: null });
    return origin.fetches(paths[tried]!) === 1;
  });
  await second.start();
  await fleet.untilCurrent(60_000);
  await share(third, second, 'back');
});
