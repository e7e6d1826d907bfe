import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { selfSigned } from '@bloomery/testkit/programs/self-signed';
import { Recorder } from '@bloomery/testkit/transport/contract-net';
import { afterEach, expect, test } from 'vitest';
import { HttpTransport, type HttpTransportOptions } from '../../src/http/index.ts';
import { SECRET } from './http-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const endings: (() => unknown)[] = [];
const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

function transport(id: string, options: Partial<HttpTransportOptions> = {}): HttpTransport {
  const limits = { firstPauseMs: 10, longestPauseMs: 50 };
  const made = new HttpTransport({ id, secret: SECRET, peers: [], limits, ...options });
  endings.push(() => made.close());
  return made;
}

async function listen(server: Server, node: HttpTransport, host: string): Promise<number> {
  const handle: RequestListener = (request, response) => void node.handle(request, response);
  server.on('request', handle).listen(0, host);
  await once(server, 'listening');
  endings.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Asks and hears a neighbour. */
async function talk(a: HttpTransport, b: HttpTransport, address: string): Promise<void> {
  b.serve('echo', (body) => body);
  const on = new Recorder();
  a.subscribe(address, 'x', on);
  await until('open', () => on.count('open') === 1);
  b.publish('x', bytes('hello'));
  await until('heard', () => on.told.includes('message hello'));
  expect(await a.request(address, 'echo', bytes('?'), { timeoutMs: 10_000 })).toEqual(bytes('?'));
}

test('HttpTransport reaches https: addresses by a given authority, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-tls-'));
  endings.push(() => rmSync(folder, { recursive: true }));
  const files = selfSigned(folder, 'b');
  const [cert, key] = [readFileSync(files.cert), readFileSync(files.key)];
  const b = transport('b');
  const port = await listen(createHttpsServer({ cert, key }), b, '127.0.0.1');
  const address = `https://127.0.0.1:${port}`;
  await talk(transport('a', { peers: [address], tls: { ca: cert } }), b, address);
  const untrusting = transport('c', { peers: [address] });
  await until('refused', () => untrusting.peers()[0].why?.includes('self-signed certificate'));
  expect(untrusting.peers()[0].state).toBe('down');
});

test.skipIf(!hasIPv6)('HttpTransport reaches IPv6 addresses', async () => {
  const b = transport('b');
  const address = `http://[::1]:${await listen(createHttpServer(), b, '::1')}`;
  await talk(transport('a', { peers: [address] }), b, address);
});

test('HttpTransport does not pull from a neighbour to which no connection comes about', async () => {
  // Accepts connections and never answers the handshake.
  const mute = createTcpServer((socket) => void endings.push(() => socket.destroy())).listen(0, '127.0.0.1');
  await once(mute, 'listening');
  endings.push(() => mute.close());
  const limits = { helloMs: 20, firstPauseMs: 1, longestPauseMs: 2, failuresBeforePull: 1 };
  const address = `https://127.0.0.1:${(mute.address() as AddressInfo).port}`;
  const a = transport('a', { peers: [address], limits });
  await until('the attempt is over', () => a.peers()[0].why !== 'not yet reached');
  expect(a.peers()[0].why).toBe('no connection');
});
