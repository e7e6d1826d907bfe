/** A multicast fleet whose peer ports use mutual TLS, with certificates made by openssl. */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { TestAuthority } from '@bloomery/testkit/programs/test-authority';
import { Recorder } from '@bloomery/testkit/transport/contract-net';
import { afterEach, expect, test } from 'vitest';
import { FleetCertificates } from '../../src/http/index.ts';
import { MulticastTransport } from '../../src/multicast/index.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function start(id: string, group: string, certificates: FleetCertificates) {
  const server = createServer({ ...certificates.pem, requestCert: true, rejectUnauthorized: false });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const transport = new MulticastTransport({
    id,
    secret: Uint8Array.from({ length: 32 }, (_, i) => i),
    group,
    network: '127.0.0.1',
    address: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    certificates,
    limits: { heartbeatMs: 200 },
  });
  const asked: string[] = [];
  server.on('request', (request, response) => {
    asked.push(request.url ?? '');
    transport.handle(request, response);
  });
  transport.serve('echo', (body) => body);
  endings.push(async () => {
    await transport.close();
    server.closeAllConnections();
    server.close();
  });
  return { transport, asked };
}

async function freeGroup(): Promise<string> {
  const socket = createSocket('udp4');
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  const { port } = socket.address();
  socket.close();
  return `239.192.77.2:${port}`;
}

test('nodes with certificates of the fleet find each other, and one with another is kept out', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-multicast-tls-'));
  endings.push(() => rmSync(folder, { recursive: true }));
  const [ours, theirs] = ['ours', 'theirs'].map((name) => new TestAuthority(folder, name));
  const group = await freeGroup();
  const [a, b] = await Promise.all(
    ['a', 'b'].map((id) => start(id, group, new FleetCertificates({ ...ours.issue(id), ca: ours.pem }))),
  );
  const addressOf = (id: string) => a.transport.peers().find((peer) => peer.id === id)?.address;
  await until('b is up', () => a.transport.peers().some(({ id, state }) => id === 'b' && state === 'up'));
  const body = new Uint8Array([1, 2, 3]);
  expect(await a.transport.request(addressOf('b')!, 'echo', body, { timeoutMs: 10_000 })).toEqual(body);
  // A long message is fetched from the peer port.
  const on = new Recorder();
  a.transport.subscribe(addressOf('b')!, 'x', on);
  await until('open', () => on.count('open') === 1);
  b.transport.publish('x', new Uint8Array(5000).fill(7));
  await until('fetched', () => on.count('message') === 1);

  const before = a.asked.length;
  // It knows the secret, and trusts ours. We do not trust its authority.
  const c = await start('c', group, new FleetCertificates({ ...theirs.issue('c'), ca: ours.pem }));
  await until('c was heard', () => a.transport.peers().length === 2);
  await until('c has asked twice', () => a.asked.length > before + 1);
  expect(a.transport.peers().find(({ id }) => id !== 'b')?.state).toBe('down');
  expect(c.transport.peers().map(({ state }) => state)).toEqual(['down', 'down']);
  expect(c.asked).toEqual([]);
});
