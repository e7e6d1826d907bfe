/**
 * The connection by which a member reads the log: a socket of its own where the settings of the
 * client say how to reach the server, and a copy of the client elsewhere. RESP tells them apart: a
 * socket of ours speaks RESP2, and the clients speak RESP3.
 */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { freePort, RedisServer } from '@bloomery/testkit/programs/redis-server';
import { selfSigned } from '@bloomery/testkit/programs/self-signed';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLightConnection, type RedisClient } from '../../src/shared/redis/redis-client.ts';
import { CLIENTS, clientFor, missing, numbered, openMember } from './members.ts';

const SLOW = { timeout: 60_000 };
let server: RedisServer;
let folder: string;
let tlsPort: number;
let ca: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bloomery-tls-'));
  const { cert, key } = selfSigned(folder, 'redis');
  ca = readFileSync(cert);
  tlsPort = await freePort();
  const tls = ['--tls-port', String(tlsPort), '--tls-cert-file', cert, '--tls-key-file', key];
  server = await RedisServer.start({
    words: ['--save', '', ...tls, '--tls-auth-clients', 'no', '--unixsocket', join(folder, 'redis.sock')],
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** The connections of this server that read a log: `resp`, `db`, `user` and `name` of each. */
async function readers(): Promise<Record<string, string>[]> {
  const lines = (await server.ask('CLIENT', 'LIST')).split('\n');
  return lines
    .map((line) => Object.fromEntries(line.split(' ').map((pair) => pair.split('=', 2))))
    .filter(({ cmd }) => cmd === 'xread');
}

async function readerOf(redis: RedisClient, name: string): Promise<Record<string, string>> {
  // A reader that waits for an hour is found in XREAD whenever one asks.
  const options = { redis, name, timing: { lookMs: 3_600_000 } };
  await using _member = await openMember(server, options);
  let found: Record<string, string>[] = [];
  await until('a connection that reads the log', async () => {
    found = await readers();
    return found.length === 1;
  });
  return found[0];
}

test.each(CLIENTS)(
  'a member reads by a socket of its own, as the user of the client %s',
  SLOW,
  async (client) => {
    server.cli('ACL', 'SETUSER', 'ada', 'on', '>sesame', '~*', '+@all');
    const redis = clientFor(client, `redis://ada:sesame@127.0.0.1:${server.port}/3`);
    const reader = await readerOf(redis, `plain-${client}`);
    expect(reader).toMatchObject({ resp: '2', db: '3', user: 'ada' });
    expect(server.cli('-n', '3', 'EXISTS', `bloomery:{plain-${client}}:meta`)).toBe('1');
  },
);

test('a member reads by TLS, and refuses a certificate that it does not know', SLOW, async () => {
  const place = { host: '127.0.0.1', port: tlsPort };
  const clients = {
    io: new Redis({ ...place, tls: { ca }, lazyConnect: true }),
    node: createClient({ socket: { ...place, tls: true, ca } }),
  };
  for (const [name, redis] of Object.entries(clients)) {
    expect(await readerOf(redis, `tls-${name}`)).toMatchObject({ resp: '2', laddr: `127.0.0.1:${tlsPort}` });
  }
  for (const redis of [
    new Redis({ ...place, tls: {}, lazyConnect: true }),
    createClient({ socket: { ...place, tls: true } }),
  ])
    await expect(openLightConnection(redis)).rejects.toMatchObject({ code: 'unavailable' });
});

test('a member reads by a unix socket', SLOW, async () => {
  const path = join(folder, 'redis.sock');
  for (const redis of [new Redis({ path, lazyConnect: true }), createClient({ url: `unix://${path}` })])
    expect(await readerOf(redis, 'unix')).toMatchObject({ resp: '2', flags: 'bU' });
});

test('a member reads through the client where only that knows the way', SLOW, async () => {
  class Connector {
    check() {
      return true;
    }
    disconnect() {}
    async connect() {
      return connect(server.port, '127.0.0.1');
    }
  }
  // The address is none at all, so a socket of our own would not get anywhere.
  const redis = new Redis({ host: '192.0.2.1', port: 1, Connector: Connector as never, lazyConnect: true });
  expect(await readerOf(redis, 'connector')).toMatchObject({ resp: '3' });
});

test('a light connection rejects a command with the error of the server, and goes on', SLOW, async () => {
  const connection = await openLightConnection(clientFor('ioredis', server.url));
  await expect(connection.call(['EVALSHA', '0'.repeat(40), '0'])).rejects.toThrow('NOSCRIPT');
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  await connection.call(['SET', 'schlüssel', bytes]);
  expect(await connection.call(['GET', 'schlüssel'])).toEqual(Buffer.from(bytes));
  const together = [connection.call(['PING', 'a']), connection.call(['PING', 'b'])];
  expect((await Promise.all(together)).map(String)).toEqual(['a', 'b']);
  const late = connection.call(['BLPOP', 'none', '0'], 50);
  await expect(late).rejects.toThrow('within 50 ms');
  await expect(connection.call(['PING'])).rejects.toThrow('closed');
});

test('a light connection that the server ends rejects what waits', SLOW, async () => {
  const connection = await openLightConnection(clientFor('redis', server.url));
  const id = String(await connection.call(['CLIENT', 'ID']));
  const waiting = connection.call(['BLPOP', 'none', '0']);
  server.cli('CLIENT', 'KILL', 'ID', id);
  await expect(waiting).rejects.toThrow('closed');
  connection.close();
});

test('a snapshot and a log of many chunks are loaded by a light connection', SLOW, async () => {
  const options = { name: 'large', capacity: 300_000 };
  await using a = await openMember(server, options);
  await a.ready();
  const keys = numbered('k', 100_000);
  await a.addMany(keys);
  await using b = await openMember(server, { ...options, client: 'redis' });
  await b.ready();
  expect(missing(b, keys)).toBe(0);
  expect(b.stats().resyncs).toBe(0);
});
