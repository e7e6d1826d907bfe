/**
 * Clients of different pace who want the same: none waits for another, whether the store keeps the
 * body or not.
 */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { ask, cleanUp, scratchFolder, startOrigin, startTestNode, until } from './scratch.ts';

const folder = scratchFolder();
const BODY = Buffer.alloc(24_000_000, 'a body that is longer than what fits between two sockets ');
const DIGEST = createHash('sha256').update(BODY).digest('hex');

async function digestOf(port: number, path: string): Promise<string> {
  const client = request({ host: '127.0.0.1', port, path, agent: false, timeout: 20_000 }).end();
  client.on('timeout', () => client.destroy(new Error('nothing came for 20 s')));
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  const hash = createHash('sha256');
  for await (const chunk of response) hash.update(chunk);
  return hash.digest('hex');
}

/** Asks, and reads nothing. */
async function stalled(port: number, path: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  cleanUp(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: node.test\r\n\r\n`);
  await new Promise((resolve) => setTimeout(resolve, 300));
}

function lengthOrigin() {
  return startOrigin((_, response) => {
    response.writeHead(200, { 'Content-Length': BODY.length, 'Cache-Control': 'max-age=60' });
    response.end(BODY);
  });
}

it('memory only, longer than what it keeps: each has a fetch of its own', async () => {
  const origin = await lengthOrigin();
  const node = await startTestNode({ upstream: [origin.url], disk: false, memory: '16MB' });
  await stalled(node.port, '/long');
  expect(await digestOf(node.port, '/long')).toBe(DIGEST);
  expect(origin.asked.length).toBe(2);
});

it('memory only, but it fits: one fetch, and it is kept', async () => {
  const origin = await lengthOrigin();
  const node = await startTestNode({ upstream: [origin.url], disk: false, memory: '256MB' });
  await stalled(node.port, '/long');
  expect(await digestOf(node.port, '/long')).toBe(DIGEST);
  expect(await digestOf(node.port, '/long')).toBe(DIGEST);
  expect(origin.asked.length).toBe(1);
});

it('on disk: one fetch, read by each at its own pace, and kept', async () => {
  const origin = await lengthOrigin();
  const disk = `${folder}/pace`;
  const node = await startTestNode({ upstream: [origin.url], disk, memory: '8MB', diskSize: '500MB' });
  await stalled(node.port, '/long');
  expect(await digestOf(node.port, '/long')).toBe(DIGEST);
  await until('it to be stored', () => node.store.statistics.responses === 1);
  expect((await ask(node.port, '/long', { method: 'HEAD' })).headers['cache-status']).toContain('; hit');
  expect(await digestOf(node.port, '/long')).toBe(DIGEST);
  expect(origin.asked.length).toBe(1);
});
