/** The server's answers and limits, as any client of HTTP sees them. */

import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { expect, test } from 'vitest';
import { SeededFile, WholeFile } from '../../src/index.ts';
import { addressOf, SwarmLab } from './swarm-lab.ts';

test.each([
  ['GET', 'file', {}, 200],
  ['HEAD', 'file', {}, 200],
  ['GET', 'file', { range: 'bytes=5-9' }, 206],
  ['GET', 'file', { range: 'bytes=199999-' }, 206],
  ['GET', 'file', { range: 'bytes=200000-200001' }, 416],
  ['GET', 'file', { range: 'bytes=9-5' }, 416],
  ['GET', 'file', { range: 'bytes=-5' }, 200],
  ['GET', 'list', {}, 200],
  ['POST', 'file', {}, 405],
  ['GET', 'other', {}, 404],
  ['GET', '../../etc/passwd', {}, 404],
])('%s %s with %j is answered %i', async (method, what, headers, status) => {
  await using lab = new SwarmLab(200_000);
  const url = `${await lab.seed()}/delivery/1/${lab.digest}/${what}`;
  const response = await fetch(url, { method, headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.status).toBe(status);
  const [, from, to] = /bytes (\d+)-(\d+)/.exec(response.headers.get('content-range') ?? '') ?? [];
  if (status === 206) expect(bytes.equals(lab.body.subarray(Number(from), Number(to) + 1))).toBe(true);
});

test('a digest that is not shared is not served', async () => {
  await using lab = new SwarmLab(200_000);
  const address = await lab.seed();
  expect((await fetch(`${address}/delivery/1/${'0'.repeat(64)}/file`)).status).toBe(404);
  expect((await fetch(`${address}/delivery/1/${lab.digest.toUpperCase()}/file`)).status).toBe(404);
});

test('requests beyond the queue are answered 503, and those in it are served', async () => {
  await using lab = new SwarmLab(200_000);
  const address = await lab.seed(lab.body, { uploads: 1, waiting: 2, bytesPerSecond: 400_000 });
  const url = `${address}/delivery/1/${lab.digest}/file`;
  const answers = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const response = await fetch(url);
      await response.arrayBuffer();
      return response.status;
    }),
  );
  expect(answers.filter((status) => status === 200)).toHaveLength(3);
  expect(answers.filter((status) => status === 503)).toHaveLength(5);
});

test('connections beyond the limit of one address are closed, and slow requests as well', async () => {
  await using lab = new SwarmLab(200_000);
  const server = await lab.server({ perAddress: 3, requestMs: 300 });
  const sockets = Array.from({ length: 6 }, () => connect(server.port, '127.0.0.1'));
  for (const socket of sockets) socket.on('error', () => {}).resume();
  await until('three closed', () => sockets.filter(({ destroyed }) => destroyed).length === 3);
  await until('counted', () => server.status.refused === 3 && server.status.connections === 3);
  for (const socket of sockets) socket.write('GET /delivery/1/');
  await Promise.all(sockets.filter(({ destroyed }) => !destroyed).map((socket) => once(socket, 'close')));
});

test('followers beyond the limit are answered 503', async () => {
  await using lab = new SwarmLab(200_000);
  const url = `${await lab.seed(lab.body, { followers: 1 })}/delivery/1/${lab.digest}/state`;
  const stop = new AbortController();
  const first = await fetch(url, { signal: stop.signal });
  expect(first.status).toBe(200);
  expect((await fetch(url)).status).toBe(503);
  stop.abort();
  await until('room again', async () => {
    const again = new AbortController();
    const { status } = await fetch(url, { signal: again.signal });
    again.abort();
    return status === 200;
  });
});

test('bytes per second are those of the limit, for all answers together', async () => {
  await using lab = new SwarmLab(1_000_000);
  const url = `${await lab.seed(lab.body, { bytesPerSecond: 2_000_000 })}/delivery/1/${lab.digest}/file`;
  const start = performance.now();
  await Promise.all([1, 2].map(async () => (await fetch(url)).arrayBuffer()));
  // 2 MB at 2 MB/s, of which 20 ms may be made up. A lower bound holds on a busy machine.
  expect(performance.now() - start).toBeGreaterThan(970);
});

test('a file that changes while it is served is not served any more', async () => {
  await using lab = new SwarmLab(200_000);
  const path = join(lab.folder, 'mine');
  writeFileSync(path, lab.body);
  const file = await WholeFile.open(path);
  const server = await lab.server();
  server.share(new SeededFile(file));
  appendFileSync(path, 'more');
  await expect(
    fetch(`${addressOf(server)}/delivery/1/${lab.digest}/file`).then((response) => response.arrayBuffer()),
  ).rejects.toThrow();
  await expect(file.read(0, 10)).rejects.toMatchObject({ code: 'changed' });
  await file.close();
});
