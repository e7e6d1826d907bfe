/** The event stream of a whole node: its contents, its limits, and readers that do not read. */

import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ask, cleanUp, startOrigin, startTestNode, until } from '../node/scratch.ts';
import { readEvents } from './read-events.ts';

test('events begins with hello, counts and neighbours, and its counts are those of the status', async () => {
  const origin = await startOrigin();
  const node = await startTestNode({ upstream: [origin.url], adminListen: '127.0.0.1:0', name: 'one' });
  const admin = node.adminListen!.port;
  for (const path of ['/a', '/a', '/b']) await ask(node.port, path);
  const reader = await readEvents(admin);
  expect(reader.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  });
  expect(reader.headers['content-length']).toBeUndefined();
  await reader.wait('peers');
  expect(reader.text.startsWith('retry: 2000\n\n')).toBe(true);
  expect(reader.events.slice(0, 3).map(({ name }) => name)).toEqual(['hello', 'counts', 'peers']);
  const [hello, counts, peers] = reader.events.map(({ data }) => data);
  expect(hello).toMatchObject({ v: 1, name: 'one', state: 'running', hasFleet: false });
  expect(peers).toEqual({ v: 1, isFull: true, own: null, groups: null, peers: [], gone: [] });
  const status = await node.status();
  const { total, ...requests } = status.requests;
  expect(counts.requests).toEqual(requests);
  expect(total).toBe(3);
  expect(counts).toMatchObject({
    startedAt: Date.parse(status.startedAt),
    bytesSent: status.bytes.sent,
    bytesFromOrigins: status.bytes.fromOrigins,
    inMemory: { objects: 2, bytes: status.stores.memory!.bytes },
    onDisk: null,
    falseHits: 0,
  });
  expect(counts.latency.cache).toHaveLength(counts.latency.boundsMs.length + 1);
  await ask(node.port, '/a');
  const later = await reader.wait('counts', (data) => data.requests.hit === 2);
  expect(later.data.requests.miss).toBe(2);
});

test('events ends with hello when the node stops', async () => {
  const node = await startTestNode({});
  const reader = await readEvents(node.port);
  await reader.wait('hello');
  await node.close(5000);
  await until('the stream ended', () => reader.isEnded);
  expect(reader.events.at(-1)).toMatchObject({ name: 'hello', data: { state: 'stopping' } });
});

test('events is for 16 readers, and a seventeenth is told to wait', async () => {
  const node = await startTestNode({});
  const readers = await Promise.all(Array.from({ length: 16 }, () => readEvents(node.port)));
  for (const reader of readers) await reader.wait('hello');
  for (const method of ['GET', 'HEAD']) {
    const refused = await ask(node.port, '/.bloomery/events', { method });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '10']);
  }
  readers[0]!.close();
  await until('a place is free', async () => (await readEvents(node.port)).status === 200);
});

test('events is for GET and HEAD, and refused to other sites, other hosts and other machines', async () => {
  const node = await startTestNode({});
  const status = async (headers: Record<string, string>, method = 'GET') =>
    (await ask(node.port, '/.bloomery/events', { headers, method })).status;
  const head = await ask(node.port, '/.bloomery/events', { method: 'HEAD' });
  expect([head.status, head.headers['content-type'], head.body]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    '',
  ]);
  expect(await status({ Host: 'attacker.example' }, 'HEAD')).toBe(403);
  expect(await status({ 'Bloomery-Admin': '1' }, 'POST')).toBe(405);
  expect(await status({}, 'OPTIONS')).toBe(405);
  expect(await status({ 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
  expect(await status({ 'Sec-Fetch-Site': 'same-site' })).toBe(403);
  expect(await status({ Host: 'attacker.example' })).toBe(403);
  expect(await status({ Via: '1.1 other' })).toBe(403);
  const closed = await startTestNode({ adminClient: ['none'] });
  expect((await ask(closed.port, '/.bloomery/events')).status).toBe(403);
});

/** A reader that asks, and then reads nothing. */
async function connectUnread(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  cleanUp(() => socket.destroy());
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.pause();
  socket.write('GET /.bloomery/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  return socket;
}

test('events of a reader that does not read do not keep others from theirs', async () => {
  const origin = await startOrigin();
  const node = await startTestNode({ upstream: [origin.url] });
  for (let i = 0; i < 5; i++) await connectUnread(node.port);
  const reader = await readEvents(node.port);
  await reader.wait('hello');
  await ask(node.port, '/a');
  await reader.wait('counts', (data) => data.requests.miss === 1);
});
