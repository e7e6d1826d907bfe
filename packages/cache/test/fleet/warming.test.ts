/** Warm-ups between real nodes, each in a process of its own. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import { FLEET_SECRET } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import type { Service } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import { expect, test } from 'vitest';
import { encodeListAnswer, encodeOpenAnswer } from '../../src/peers/warming/decisions/warm-message.ts';
import type { WarmStatus } from '../../src/peers/warming/warm-up.ts';
import { cleanUp, until } from '../node/scratch.ts';
import { startFleet, startKnownOrigin } from './start-fleet.ts';

async function warm(node: FleetNode, query: string): Promise<WarmStatus> {
  const place = `http://127.0.0.1:${node.port}/.bloomery/warm`;
  const began = await fetch(`${place}?${query}`, { method: 'POST', headers: { 'Bloomery-Admin': '1' } });
  expect(began.status, await began.clone().text()).toBe(200);
  let status = (await began.json()) as WarmStatus;
  await until('the end of the warm-up', async () => {
    status = (await (await fetch(place)).json()) as WarmStatus;
    return status.state !== 'comparing' && status.state !== 'fetching';
  });
  return status;
}

const from = (node: FleetNode) => `from=${encodeURIComponent(`http://127.0.0.1:${node.peerPort}`)}`;

test('a new node gets all objects of a neighbour without the origin, and then lacks nothing', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: 2, origin: origin.url });
  const [full, fresh] = fleet.nodes as [FleetNode, FleetNode];
  const paths = Array.from({ length: 300 }, (_, i) => knownPath(`warm/${i}`, 400 + 10 * i));
  for (const path of paths) expect(await checkedGet(full.port, path)).toMatchObject({ status: 200 });
  // Some are at both nodes.
  for (const path of paths.slice(0, 20)) await checkedGet(fresh.port, path);
  const before = (await fresh.status()).originFetches;

  const dry = await warm(fresh, `${from(full)}&dry-run=yes`);
  expect(dry).toMatchObject({ state: 'done', offered: 300, lacking: 280, wanted: 280, stored: 0 });
  const done = await warm(fresh, `from=${full.name}`);
  expect(done).toMatchObject({ state: 'done', lacking: 280, stored: 280, refused: 0, skipped: 0 });
  expect(done.storedBytes).toBe(done.wantedBytes);
  // Some bytes per object for the comparison, and the URLs themselves.
  expect(done.compareBytes).toBeLessThan(280 * 120);
  expect(await warm(fresh, from(full))).toMatchObject({ state: 'done', lacking: 0, stored: 0 });

  await full.stop();
  for (const path of paths)
    expect(await checkedGet(fresh.port, path)).toMatchObject({ status: 200, wrong: null, isWhole: true });
  expect((await fresh.status()).originFetches).toBe(before);
});

test('a warm-up that was stopped goes on from there', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: 2, origin: origin.url });
  const [full, fresh] = fleet.nodes as [FleetNode, FleetNode];
  for (let i = 0; i < 30; i++) await checkedGet(full.port, knownPath(`stopped/${i}`, 1000));
  const place = `http://127.0.0.1:${fresh.port}/.bloomery/warm`;
  const post = async (query: string) => {
    const answer = await fetch(`${place}?${query}`, { method: 'POST', headers: { 'Bloomery-Admin': '1' } });
    return [answer.status, await answer.text()] as const;
  };
  const status = async () => (await (await fetch(place)).json()) as WarmStatus;
  // A second or two for each object.
  await post(`${from(full)}&rate=700`);
  await until('the first objects', async () => (await status()).stored > 0);
  expect(await post(from(full))).toEqual([409, expect.stringMatching(/expected no other warm-up, got one/)]);
  await post('stop=yes');
  await until('its end', async () => (await status()).state === 'stopped');
  const { stored } = await status();
  expect(stored).toBeLessThan(30);
  expect(await warm(fresh, from(full))).toMatchObject({
    state: 'done',
    lacking: 30 - stored,
    stored: 30 - stored,
  });
});

test('private objects, secrets in URLs and fields of clients stay; variants by encoding come', async () => {
  const origin = await startOrigin();
  cleanUp(() => origin.close());
  const fresh60 = ['Cache-Control', 'max-age=600'];
  origin.on('/plain', () => ({ headers: fresh60, body: 'plain' }));
  origin.on('/zip', () => ({ headers: [...fresh60, 'Vary', 'Accept-Encoding'], body: 'zipped' }));
  origin.on('/agent', () => ({ headers: [...fresh60, 'Vary', 'User-Agent'], body: 'agent' }));
  origin.on('/short', () => ({ headers: ['Cache-Control', 'max-age=20'], body: 'short' }));
  origin.on('/cookie', () => ({ headers: [...fresh60, 'Set-Cookie', 'a=b'], body: 'cookie' }));
  origin.on('/secret?token=1', () => ({ headers: fresh60, body: 'secret' }));
  const fleet = await startFleet({ nodes: 2, origin: origin.origin });
  const [full, fresh] = fleet.nodes as [FleetNode, FleetNode];
  const headers = { 'Accept-Encoding': 'gzip', 'User-Agent': 'someone' };
  for (const path of ['/plain', '/zip', '/agent', '/short', '/cookie', '/secret?token=1'])
    await (await fetch(`http://127.0.0.1:${full.port}${path}`, { headers })).text();
  const status = await warm(fresh, from(full));
  expect(status).toMatchObject({ state: 'done', lacking: 3, wanted: 2, stale: 1, stored: 2 });
  const asked = (path: string) => fetch(`http://127.0.0.1:${fresh.port}${path}`, { headers });
  expect((await asked('/zip')).headers.get('cache-status')).toMatch(/; hit/);
  expect((await asked('/plain')).headers.get('cache-status')).toMatch(/; hit/);
  expect((await asked('/agent')).headers.get('cache-status')).not.toMatch(/^[^,]*; hit[^,]*$/);
});

test('a neighbour that lies, stalls or offers what it does not give harms nothing', async () => {
  const origin = await startKnownOrigin();
  let answer: Service = () => new Uint8Array(0);
  const transport = new HttpTransport({ id: 'liar', secret: Buffer.from(FLEET_SECRET), peers: [] });
  transport.serve('warm', (body, node) => answer(body, node));
  const server = createServer((request, response) => {
    if (!transport.handle(request, response)) response.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(async () => {
    await transport.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const fleet = await startFleet({
    nodes: 1,
    origin: origin.url,
    isCurrent: false,
    furtherPeers: () => [`http://127.0.0.1:${port}`],
  });
  const [node] = fleet.nodes as [FleetNode];
  await until('the link', async () => (await node.peer('liar'))?.state === 'up');

  for (const bytes of [
    Uint8Array.of(),
    Buffer.from('hello'),
    new Uint8Array(7 * 2 ** 20),
    Uint8Array.of(1, 1),
  ]) {
    answer = () => bytes;
    expect(await warm(node, 'from=liar')).toMatchObject({ state: 'failed', problem: { code: 'malformed' } });
  }
  answer = () => {
    throw new Error('no');
  };
  expect(await warm(node, 'from=liar')).toMatchObject({ state: 'failed', problem: { code: 'unreachable' } });

  const object = (key: string) => ({ key, varied: [], bytes: 10, freshMs: 1e6 });
  const offered = [
    object(`${origin.url}${knownPath('not/there', 100)}`),
    object('http://169.254.169.254/latest'),
    object(`${origin.url}/page?token=secret`),
    object('file:///etc/passwd'),
  ];
  answer = (body) =>
    body[1] === 1
      ? encodeOpenAnswer({ session: '0011223344556677', objects: 4, sums: new Uint32Array(2) })
      : encodeListAnswer({ total: 4, objects: offered });
  const before = (await node.status()).originFetches;
  expect(await warm(node, 'from=liar')).toMatchObject({ state: 'done', wanted: 4, stored: 0 });
  expect((await node.status()).originFetches).toBe(before);

  answer = () => new Promise(() => {});
  const post = (query: string) =>
    fetch(`http://127.0.0.1:${node.port}/.bloomery/warm?${query}`, {
      method: 'POST',
      headers: { 'Bloomery-Admin': '1' },
    });
  await post('from=liar');
  await post('stop=yes');
  await until('its end', async () => {
    const { state } = (await (
      await fetch(`http://127.0.0.1:${node.port}/.bloomery/warm`)
    ).json()) as WarmStatus;
    return state === 'stopped';
  });
});

test('a warm-up keeps to its bytes, and refuses what it cannot do', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({
    nodes: 3,
    origin: origin.url,
    settings: (index, folder) => (index === 2 ? { workers: 2, disk: `${folder}/disk` } : {}),
  });
  const [full, fresh, team] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  for (let i = 0; i < 20; i++) await checkedGet(full.port, knownPath(`limit/${i}`, 10_000));
  const limited = await warm(fresh, `${from(full)}&max-bytes=50000`);
  expect(limited).toMatchObject({ lacking: 20, wanted: 4, tooMany: 16, stored: 4 });
  const refused = async (node: FleetNode, query: string) => {
    const place = `http://127.0.0.1:${node.port}/.bloomery/warm?${query}`;
    const answer = await fetch(place, { method: 'POST', headers: { 'Bloomery-Admin': '1' } });
    return [answer.status, await answer.text()];
  };
  expect(await refused(fresh, 'from=http://127.0.0.1:1')).toEqual([
    409,
    expect.stringMatching(/expected a neighbour of this node \(.*\), got http:\/\/127\.0\.0\.1:1/),
  ]);
  expect(await refused(team, from(full))).toEqual([409, expect.stringMatching(/got one with workers/)]);
  expect(await refused(fresh, `${from(full)}&rate=fast`)).toEqual([400, expect.stringMatching(/rate/)]);
  expect(await warm(fresh, from(team))).toMatchObject({
    state: 'failed',
    problem: { code: 'unsupported' },
  });
  const unmarked = await fetch(`http://127.0.0.1:${fresh.port}/.bloomery/warm?${from(full)}`, {
    method: 'POST',
  });
  expect(unmarked.status).toBe(403);
});
