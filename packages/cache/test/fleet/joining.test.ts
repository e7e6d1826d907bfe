/**
 * Neighbours that join and leave while all nodes run: by the records of a name in the DNS, and by a
 * reload of the settings; with workers and without.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DnsServer } from '@bloomery/testkit/dns/dns-server';
import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { expect, test } from 'vitest';
import { cleanUp, until } from '../node/scratch.ts';
import { offer, startFleet, startKnownOrigin, untilGiven } from './start-fleet.ts';

type Nodes = [FleetNode, FleetNode, FleetNode];

/** Nodes on 127.0.0.2 and later, all on one port, that find each other by a name. */
async function startNamedFleet(origin: string, workers: number): Promise<{ fleet: Fleet; dns: DnsServer }> {
  const dns = await DnsServer.start();
  cleanUp(() => dns[Symbol.asyncDispose]());
  list(dns, [0, 1, 2]);
  let port = '';
  const fleet = await startFleet({
    nodes: 3,
    origin,
    furtherPeers: (index, own) => {
      if (index === 0) port = new URL(own).port;
      return [];
    },
    settings: (index) => ({
      peer: [],
      peerListen: `127.0.0.${2 + index}:${port}`,
      peersDns: ['caches.test'],
      peersDnsServer: [dns.address],
      workers: index === 0 ? workers : 1,
    }),
  });
  return { fleet, dns };
}

function list(dns: DnsServer, indices: readonly number[]): void {
  dns.hosts.set('caches.test', { addresses: indices.map((index) => `127.0.0.${2 + index}`), ttl: 1 });
}

async function idsOf(node: FleetNode): Promise<(string | null)[]> {
  return (await node.status()).cooperation!.peers.map(({ id }) => id).sort();
}

test.each([
  ['one process', 1],
  ['two workers', 2],
])('nodes join and leave with the records of a name (%s)', async (_what, workers) => {
  const origin = await startKnownOrigin();
  const { fleet, dns } = await startNamedFleet(origin.url, workers);
  const [first, second, third] = fleet.nodes as unknown as Nodes;
  // Its own address is in the answer as well.
  expect(await idsOf(first)).toEqual(['node-1', 'node-2']);
  expect((await first.status()).cooperation!.peers.map(({ source }) => source)).toEqual([
    'dns caches.test',
    'dns caches.test',
  ]);
  const path = knownPath('third', 5000);
  await offer(third, path);
  await first.untilHeard(third, 1);
  list(dns, [0, 1]);
  await until('the third is gone', async () => (await idsOf(first)).join() === 'node-1', 60_000);
  await until('for the second as well', async () => (await idsOf(second)).join() === 'node-0', 60_000);
  expect(await checkedGet(first.port, path)).toMatchObject({ status: 200, wrong: null });
  expect(origin.fetches(path)).toBe(2);
  // A server that fails takes no neighbour away.
  dns.mode = 'fails';
  await until('the failure is noticed', () => first.log.some(({ event }) => event === 'dns-failed'), 60_000);
  expect(await idsOf(first)).toEqual(['node-1']);
  dns.mode = 'answers';
  list(dns, [0, 1, 2]);
  await fleet.untilCurrent(60_000);
  await untilGiven('an object of the node that came back', async (tried) => {
    const next = knownPath(`back/${tried}`, 5000);
    await offer(third, next);
    await first.untilHeard(third);
    expect(await checkedGet(first.port, next)).toMatchObject({ status: 200, wrong: null });
    return origin.fetches(next) === 1;
  });
});

test.each([
  ['one process', 1],
  ['two workers', 2],
])('SIGHUP takes another list of neighbours (%s)', async (_what, workers) => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({
    nodes: 3,
    origin: origin.url,
    settings: (index) => ({ workers: index === 0 ? workers : 1 }),
  });
  const [first, , third] = fleet.nodes as unknown as Nodes;
  const change = (peer: readonly string[]) => {
    const file = join(fleet.folder, 'node-0.json');
    const settings = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...settings, peer }));
    first.reload();
  };
  const [toSecond, toThird] = fleet.nodes.slice(1).map(({ peerPort }) => `http://127.0.0.1:${peerPort}`);
  change([toThird!]);
  await until('the second is gone', async () => (await idsOf(first)).join() === 'node-2');
  expect(first.log.some(({ event }) => event === 'needs-restart')).toBe(false);
  change([toSecond!, toThird!]);
  await fleet.untilCurrent();
  const joined = first.log.filter(({ event }) => event === 'member-joined');
  expect(joined.map(({ peer, source }) => [peer, source])).toEqual([[toSecond, 'settings']]);
  await untilGiven('an object of a neighbour that stayed', async (tried) => {
    const path = knownPath(`stayed/${tried}`, 5000);
    await offer(third, path);
    await first.untilHeard(third);
    expect(await checkedGet(first.port, path)).toMatchObject({ status: 200, wrong: null });
    return origin.fetches(path) === 1;
  });
});
