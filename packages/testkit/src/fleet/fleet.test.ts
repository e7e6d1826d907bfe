import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { until } from '../eventually.ts';
import { Fleet, type FleetOptions } from './fleet.ts';

/**
 * A program with the outside of a node: it listens where its settings say, and its status tells
 * which of its peers answer, with their names.
 */
const PROGRAM = `
const { createServer, get } = require('node:http');
const { appendFileSync, readFileSync } = require('node:fs');
const settings = JSON.parse(readFileSync(process.argv[1], 'utf8'));
const ask = (address) => new Promise((resolve) => {
  get(address, { agent: false }, (answer) => {
    let id = '';
    answer.on('data', (text) => { id += text; });
    answer.on('end', () => resolve({ address, id, state: 'up', masked: null }));
  }).on('error', () => resolve({ address, id: null, state: 'down', masked: 'down' }));
});
const listen = (server, address) =>
  new Promise((resolve, reject) => server.once('error', reject).listen(Number(address.split(':')[1]), '127.0.0.1', resolve));
process.on('SIGTERM', () => process.exit(0));
(async () => {
  await listen(createServer((_, res) => res.end(settings.name)), settings.peerListen);
  await listen(createServer(async (_, res) => {
    appendFileSync(settings.accessLog, '{"outcome":"hit"}\\n');
    const peers = await Promise.all(settings.peer.map(ask));
    res.end(JSON.stringify({ extra: settings.extra, cooperation: { own: {}, peers } }));
  }), settings.listen[0]);
  console.error(JSON.stringify({ level: 'info', event: 'listening' }));
})();
`;

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function started(options: Partial<FleetOptions> = {}): Promise<Fleet> {
  const program = (file: string) => ['--eval', PROGRAM, file];
  const fleet = await Fleet.start({ nodes: 3, program, settings: (extra) => ({ extra }), ...options });
  open.push(() => fleet[Symbol.asyncDispose]());
  return fleet;
}

test('Fleet starts nodes that know each other, kills one and starts it again', async () => {
  const fleet = await started();
  await fleet.untilCurrent(5000);
  const [first, second] = fleet.nodes;
  expect(await first!.peer('node-1')).toMatchObject({ id: 'node-1', state: 'up' });
  expect(await second!.status()).toMatchObject({ extra: 1 });
  await second!.kill();
  expect(second!.isRunning).toBe(false);
  expect(await first!.peer('node-1')).toBeUndefined();
  await fleet.untilCurrent(5000);
  await second!.start();
  await fleet.untilCurrent(5000);
  expect(await first!.peer('node-1')).toMatchObject({ state: 'up' });
  expect(first!.accessLog()[0]).toEqual({ outcome: 'hit' });
  expect(await second!.stop()).toBe(0);
});

test('Fleet gives each link a relay, and ends processes, relays and files together', async () => {
  const fleet = await started({ nodes: 2, relays: { record: true } });
  await fleet.untilCurrent(5000);
  expect(fleet.relays).toHaveLength(2);
  expect(fleet.relay(0, 1).recorded().toString()).toMatch('node-1');
  fleet.relay(0, 1).setFaults({ refuse: true });
  await until('the link is down', async () => (await fleet.nodes[0]!.peer('node-1')) === undefined, 5000);
  expect(() => fleet.relay(0, 0)).toThrow('Cannot find a relay');
  await fleet[Symbol.asyncDispose]();
  expect(fleet.nodes.some(({ isRunning }) => isRunning)).toBe(false);
  expect(existsSync(fleet.folder)).toBe(false);
});

test('Fleet starts on other ports if another program takes one', async () => {
  const taken: Server[] = [];
  open.push(() => taken[0]?.close());
  let starts = 0;
  const fleet = await started({
    nodes: 2,
    // Runs between the choice of the ports and the start of the first process.
    furtherPeers: (_, own) => {
      if (++starts === 1) taken.push(createServer().listen(Number(new URL(own).port), '127.0.0.1'));
      return [];
    },
  });
  await fleet.untilCurrent(5000);
  expect(starts).toBe(4);
});

test('Fleet reports a node that cannot start, and leaves none behind', async () => {
  await expect(started({ settings: () => ({ peerListen: 'nowhere' }) })).rejects.toThrow(
    'Cannot wait for a process',
  );
});
