/** A node behind a balancer: who the client is, what the origin is told, what is refused. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { eventually } from '@bloomery/testkit/eventually';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ask, startTestNode } from './scratch.ts';

let asked: IncomingMessage[] = [];
let held: ServerResponse[] = [];
let hold = false;
const origin = createServer((req, res) => {
  asked.push(req);
  req.resume();
  if (hold) held.push(res);
  else res.writeHead(200, { 'Cache-Control': 'no-store' }).end('page');
});
beforeEach(async () => {
  [asked, held, hold] = [[], [], false];
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  origin.closeAllConnections();
  origin.close();
});

const start = (flags: Record<string, unknown>) =>
  startTestNode({ upstream: [`/=http://127.0.0.1:${(origin.address() as AddressInfo).port}/`], ...flags });

const FROM = {
  'X-Forwarded-For': '6.6.6.6, 198.51.100.7',
  'X-Forwarded-Proto': 'https',
  'X-Forwarded-Host': 'a.example',
};

function told({ headers }: IncomingMessage): unknown[] {
  return ['x-forwarded-for', 'forwarded', 'x-forwarded-proto', 'x-forwarded-host'].map(
    (name) => headers[name],
  );
}

test('a balancer that is trusted: GET and POST tell the origin the same client', async () => {
  const node = await start({ trustForwarded: ['127.0.0.0/8'], allowClient: ['198.51.100.0/24'] });
  const { port } = node.listen[0]!;
  for (const method of ['GET', 'POST']) {
    const answer = await ask(port, '/a', {
      method,
      headers: FROM,
      ...(method === 'POST' ? { body: 'x' } : {}),
    });
    expect(answer.status).toBe(200);
  }
  expect(asked.map(told)).toEqual([
    ['198.51.100.7', 'for=198.51.100.7', undefined, undefined],
    ['198.51.100.7', 'for=198.51.100.7', 'https', 'a.example'],
  ]);
  // The client is the one that may use the node or not.
  const other = { 'X-Forwarded-For': '198.51.100.7, 203.0.113.1' };
  expect((await ask(port, '/a', { headers: other })).status).toBe(403);
});

test('a client that is not a balancer cannot claim another address', async () => {
  const node = await start({ trustForwarded: ['10.0.0.0/8'] });
  const { port } = node.listen[0]!;
  for (const method of ['GET', 'POST'])
    expect((await ask(port, '/a', { method, headers: FROM })).status).toBe(200);
  expect(asked.map(told)).toEqual([
    ['127.0.0.1', 'for=127.0.0.1', undefined, undefined],
    ['127.0.0.1', 'for=127.0.0.1', 'http', expect.stringMatching('127.0.0.1')],
  ]);
});

test('the limit per address counts the clients behind the balancer, and logs refusals', async () => {
  const lines: Record<string, unknown>[] = [];
  const node = await start({
    trustForwarded: ['127.0.0.0/8'],
    allowClient: ['all'],
    limits: { connectionsPerClient: 3 },
  });
  node.log.event = (level, event, fields) => void lines.push({ level, event, ...fields });
  const { port } = node.listen[0]!;
  hold = true;
  const from = (client: string, n: number) => ask(port, `/${n}`, { headers: { 'X-Forwarded-For': client } });
  const waiting = [1, 2, 3].map((n) => from('198.51.100.7', n));
  await eventually(() => held.length === 3);
  expect((await from('198.51.100.7', 4)).status).toBe(429);
  // More connections of the balancer than one client may have.
  waiting.push(from('198.51.100.8', 5));
  await eventually(() => held.length === 4);
  for (const res of held) res.writeHead(200, { 'Cache-Control': 'no-store' }).end('page');
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  hold = false;
  expect((await from('198.51.100.7', 6)).status).toBe(200);
  expect(lines.filter(({ event }) => event === 'client-refused')).toEqual([
    { level: 'warn', event: 'client-refused', client: '198.51.100.7', reason: 'requests-per-client' },
  ]);
});

test('a connection of the balancer that breaks with requests in its queue frees their client', async () => {
  const node = await start({
    trustForwarded: ['127.0.0.0/8'],
    allowClient: ['all'],
    limits: { connectionsPerClient: 3 },
  });
  const { port } = node.listen[0]!;
  hold = true;
  const head = (n: number) => `GET /${n} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n`;
  const balancer = connect(port, '127.0.0.1');
  balancer.write(head(1) + head(2) + head(3));
  await eventually(() => held.length === 3);
  balancer.destroy();
  hold = false;
  const again = () => ask(port, '/4', { headers: { 'X-Forwarded-For': '198.51.100.7' } });
  await eventually(async () => (await again()).status === 200);
  expect((await Promise.all([again(), again(), again()])).map(({ status }) => status)).toEqual([
    200, 200, 200,
  ]);
});

test('tunnels count as running requests of the client behind the balancer', async () => {
  const { port: target } = origin.address() as AddressInfo;
  const node = await start({
    forward: true,
    trustForwarded: ['127.0.0.0/8'],
    allowClient: ['all'],
    allowPrivate: true,
    connectPorts: `${target}`,
    limits: { connectionsPerClient: 2 },
  });
  const open = async (client: string) => {
    const socket = connect(node.listen[0]!.port, '127.0.0.1');
    socket.write(
      `CONNECT 127.0.0.1:${target} HTTP/1.1\r\nHost: 127.0.0.1:${target}\r\nX-Forwarded-For: ${client}\r\n\r\n`,
    );
    const [head] = await once(socket, 'data');
    return { socket, status: `${head}`.slice(9, 12) };
  };
  const tunnels = [await open('198.51.100.7'), await open('198.51.100.7'), await open('198.51.100.7')];
  expect(tunnels.map(({ status }) => status)).toEqual(['200', '200', '429']);
  expect((await open('198.51.100.8')).status).toBe('200');
  tunnels[0]!.socket.destroy();
  await eventually(async () => (await open('198.51.100.7')).status === '200');
});
