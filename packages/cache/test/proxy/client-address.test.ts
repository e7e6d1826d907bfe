/**
 * The address of a client is the value that the proxy is given, wherever the connection comes from:
 * a request that another worker accepted has a socket that is not the client's.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { ClientGuard } from '../../src/safety/client-guard.ts';
import { eventually, type ProxyLab, rawConnection, startProxy } from './proxy-lab.ts';

const endings: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

async function start(client: string, allow: string): Promise<ProxyLab> {
  const lab = await startProxy({ client, clients: new ClientGuard({ allow: [allow] }) });
  endings.push(lab.close);
  return lab;
}

async function startOrigin(): Promise<string> {
  const origin = createServer((_req, res) =>
    res.writeHead(200, { 'Cache-Control': 'max-age=60' }).end('page'),
  );
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  endings.push(() => origin.close());
  return `http://127.0.0.1:${(origin.address() as AddressInfo).port}/`;
}

test('a proxy records the address that it was given, for a miss, a hit and a refused tunnel', async () => {
  const lab = await start('192.0.2.7', '192.0.2.0/24');
  const url = await startOrigin();
  await lab.get(url);
  await lab.get(url);
  const raw = await rawConnection(lab.port);
  raw.socket.write('CONNECT a.example:25 HTTP/1.1\r\nHost: a.example:25\r\n\r\n');
  await raw.ended();
  raw.socket.destroy();
  await eventually(() => lab.records.length === 3);
  expect(lab.records.map(({ client, outcome }) => [client, outcome])).toEqual([
    ['192.0.2.7', 'miss'],
    ['192.0.2.7', 'hit'],
    ['192.0.2.7', 'refused'],
  ]);
});

test('a proxy checks the address that it was given, not that of the socket', async () => {
  const lab = await start('192.0.2.7', '127.0.0.0/8');
  expect((await lab.get('http://a.example/')).status).toBe(403);
  const raw = await rawConnection(lab.port);
  raw.socket.write('CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n');
  expect(await raw.ended()).toMatch(/^HTTP\/1\.1 403 [\s\S]*does not serve your address/);
  raw.socket.destroy();
  expect(lab.records.map(({ client, reason }) => [client, reason])).toEqual([
    ['192.0.2.7', 'client-not-allowed'],
    ['192.0.2.7', 'client-not-allowed'],
  ]);
});
