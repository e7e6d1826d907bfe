/**
 * A fleet over a real NATS server with the built command, as an operator sees it: purges of the
 * fleet, `bloomery cache peers --json` and the metrics, while a node is down and while the server
 * is.
 */

import { until } from '@bloomery/testkit/eventually';
import { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { expect, onTestFinished, test } from 'vitest';
import { bloomery, COMMAND } from '../run-command.ts';

/** Ten times two heartbeats. */
const CURRENT_MS = 100_000;

async function startNatsFleet() {
  const origin = await startOrigin();
  onTestFinished(() => origin.close());
  const server = await NatsServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const fleet = await Fleet.start({
    nodes: 3,
    program: (file) => [COMMAND, 'cache', '--config', file],
    settings: (index, folder) => ({
      peer: [],
      nats: server.url,
      natsFleet: 'test',
      upstream: [`/=${origin.origin}/`],
      disk: `${folder}/disk-${index}`,
    }),
  });
  onTestFinished(() => fleet[Symbol.asyncDispose]());
  await fleet.untilCurrent(CURRENT_MS);
  const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  return { origin, server, fleet, first, second, third };
}

const urlOf = ({ port }: FleetNode) => `http://127.0.0.1:${port}`;
const text = async (node: FleetNode, path: string) => (await fetch(`${urlOf(node)}${path}`)).text();

/** The value of a sample, by its name and labels as they are printed. */
async function sample(node: FleetNode, name: string): Promise<number> {
  const line = (await text(node, '/.bloomery/metrics'))
    .split('\n')
    .find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

function purge(node: FleetNode, path: string) {
  const { code, stdout } = bloomery(['cache', 'purge', '--fleet', '--json', '--node', urlOf(node), path]);
  const [answer] = JSON.parse(stdout) as { purged: number; confirmed: string[]; waiting: string[] }[];
  return { code, purged: answer!.purged, confirmed: answer!.confirmed.toSorted(), waiting: answer!.waiting };
}

test('cache purge --fleet over NATS: all nodes confirm, and one that was down is told when it is back', async () => {
  const { origin, fleet, first, second, third } = await startNatsFleet();
  let version = 1;
  origin.on('/page', () => ({ headers: ['Cache-Control', 'max-age=600'], body: `version ${version}` }));
  // The second use of a response writes it to the disk.
  const store = async (nodes: readonly FleetNode[]) => {
    for (const node of nodes)
      for (let use = 0; use < 3; use++) expect(await text(node, '/page')).toBe(`version ${version}`);
  };
  await store(fleet.nodes);
  version = 2;
  for (const node of fleet.nodes) expect(await text(node, '/page')).toBe('version 1');
  expect(purge(first, '/page')).toEqual({
    code: 0,
    purged: 1,
    confirmed: [second.name, third.name],
    waiting: [],
  });
  await store(fleet.nodes);
  await third.stop();
  version = 3;
  const { code, ...rest } = purge(second, '/page');
  expect(code).not.toBe(0);
  expect(rest).toMatchObject({ confirmed: [first.name], waiting: [third.name] });
  await third.start();
  await until(
    'the node that was down to hear of it',
    async () => (await text(third, '/page')) === 'version 3',
  );
  for (const node of fleet.nodes) expect(await text(node, '/page')).toBe('version 3');
}, 300_000);

test('cache peers --json and the metrics tell of the NATS server, its loss and the way back', async () => {
  const { server, fleet, first } = await startNatsFleet();
  const peers = () => {
    const { code, stdout } = bloomery(['cache', 'peers', '--json', '--node', urlOf(first)]);
    expect(code).toBe(0);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const traffic = (what: string, direction: string) =>
    sample(first, `bloomery_cache_nats_${what}_total{direction="${direction}"}`);
  expect(peers()).toMatchObject({
    peers: [{ source: 'nats' }, { source: 'nats' }],
    dns: [],
    nats: { fleet: 'test', isConnected: true, why: null, reconnects: 0, refused: {} },
    multicast: null,
    squids: null,
  });
  expect(await sample(first, 'bloomery_cache_nats_connected')).toBe(1);
  expect(await sample(first, 'bloomery_cache_nats_reconnects_total')).toBe(0);
  for (const direction of ['sent', 'received']) {
    expect(await traffic('messages', direction)).toBeGreaterThan(0);
    expect(await traffic('bytes', direction)).toBeGreaterThan(0);
  }
  const before = await traffic('bytes', 'sent');
  await server.kill();
  await until('the loss to show', async () => (await sample(first, 'bloomery_cache_nats_connected')) === 0);
  expect(await traffic('bytes', 'sent')).toBeGreaterThanOrEqual(before);
  expect(peers()).toMatchObject({ nats: { isConnected: false, why: expect.any(String) } });
  await server.start();
  await fleet.untilCurrent(CURRENT_MS);
  expect(await sample(first, 'bloomery_cache_nats_reconnects_total')).toBeGreaterThan(0);
  expect(await traffic('bytes', 'sent')).toBeGreaterThan(before);
}, 300_000);
