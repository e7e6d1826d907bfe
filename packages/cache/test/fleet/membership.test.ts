/**
 * Nodes come and go: they start in any order, are killed and started again, and may be told their
 * own address. The others notice by the connection, without a restart.
 */

import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { expect, test } from 'vitest';
import { until } from '../node/scratch.ts';
import { offer, startFleet, startKnownOrigin, untilGiven } from './start-fleet.ts';

test('a neighbour that is killed is not asked, and is asked again after its restart', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: 3, origin: origin.url });
  const [first, second] = fleet.nodes as [FleetNode, FleetNode];
  const path = knownPath('before', 5000);
  await checkedGet(first.port, path);
  await second.untilHeard(first, 1);
  await first.kill();
  await until(`${second.name} masks ${first.name}`, async () => {
    const peers = (await second.status()).cooperation!.peers;
    return peers.some(({ id, state }) => id === first.name && state === 'down');
  });
  expect(await checkedGet(second.port, path)).toMatchObject({ status: 200, wrong: null });
  expect(origin.fetches(path)).toBe(2);
  expect((await second.peer(first.name))!.falseHits).toBe(0);
  await first.start();
  await fleet.untilCurrent();
  // Its memory is empty now, and its summary says so.
  await second.untilHeard(first, 0);
  await untilGiven(`an object of ${first.name} after its restart`, async (tried) => {
    const next = knownPath(`after/${tried}`, 5000);
    await offer(first, next);
    await second.untilHeard(first);
    expect(await checkedGet(second.port, next)).toMatchObject({ status: 200, wrong: null });
    return origin.fetches(next) === 1;
  });
});

test('a node on disk offers its objects again after a kill', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({
    nodes: 2,
    origin: origin.url,
    settings: (index, folder) => ({ disk: `${folder}/disk-${index}`, memory: '1MB' }),
  });
  const [first, second] = fleet.nodes as [FleetNode, FleetNode];
  const paths = Array.from({ length: 10 }, (_, i) => knownPath(`kept/${i}`, 1_200_000));
  for (const path of paths) await offer(first, path);
  await first.kill();
  await first.start();
  await fleet.untilCurrent();
  await second.untilHeard(first, paths.length);
  await untilGiven('an object that was stored before the kill', async (tried) => {
    expect(await checkedGet(second.port, paths[tried]!)).toMatchObject({ status: 200, wrong: null });
    return origin.fetches(paths[tried]!) === 1;
  });
});

test('nodes find each other in any order of their starts', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: 3, origin: origin.url });
  for (const order of [
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    for (const node of fleet.nodes) await node.stop();
    for (const index of order) await fleet.nodes[index]!.start();
    await fleet.untilCurrent();
  }
});

test('a node that is told its own address knows itself, and never asks itself', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: 2, origin: origin.url, furtherPeers: (_, own) => [own] });
  const [first] = fleet.nodes as [FleetNode];
  await until('it knows itself', async () => {
    const peers = (await first.status()).cooperation!.peers;
    return peers.length === 1 || peers.some(({ state }) => state === 'self');
  });
  const path = knownPath('own', 5000);
  expect(await checkedGet(first.port, path)).toMatchObject({ status: 200, wrong: null });
  expect(origin.fetches(path)).toBe(1);
});
