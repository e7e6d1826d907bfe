/** The stores of `npm run bench:guard`: from a Set in memory to a server that is 1 ms away. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import pg from 'pg';
import { createClient } from 'redis';
import type { Lookup } from '../../../packages/stores/dist/guard/index.js';
import { PostgresCluster } from '../../../packages/testkit/src/programs/postgres-cluster.ts';
import { RedisServer } from '../../../packages/testkit/src/programs/redis-server.ts';

export interface MeasuredStore {
  readonly name: string;
  /** Lookups of one round. */
  readonly lookups: number;
  readonly lookup: Lookup<string, [], true>;
  close?(): Promise<void> | void;
}

export function memoryStore(present: readonly string[]): MeasuredStore {
  const keys = new Set(present);
  return {
    name: 'a Set in memory',
    lookups: 20_000,
    lookup: async (key) => (keys.has(key) ? true : undefined),
  };
}

/** SQLite in this process, by libsql and a prepared statement. */
export function sqliteStore(present: readonly string[]): MeasuredStore {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-guard-'));
  const database = new Database(join(folder, 'keys.sqlite'));
  database.exec('create table t(k text primary key) without rowid; begin');
  const insert = database.prepare('insert into t values (?)');
  for (const key of present) insert.run(key);
  database.exec('commit');
  const find = database.prepare('select 1 from t where k = ?');
  return {
    name: 'SQLite in the same process',
    lookups: 5000,
    lookup: async (key) => (find.get(key) === undefined ? undefined : true),
    close() {
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export function fileStore(present: readonly string[]): MeasuredStore {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-guard-'));
  for (const key of present) writeFileSync(join(folder, key), '');
  return {
    name: 'files in the page cache (stat)',
    lookups: 1000,
    lookup: (key) =>
      stat(join(folder, key)).then(
        () => true as const,
        () => undefined,
      ),
    close: () => rmSync(folder, { recursive: true }),
  };
}

export async function redisStore(present: readonly string[], lookups: number): Promise<MeasuredStore> {
  const server = await RedisServer.start();
  const client = createClient({ url: server.url });
  await client.connect();
  await client.sAdd('keys', [...present]);
  return {
    name: 'Redis on loopback',
    lookups,
    lookup: async (key) => ((await client.sIsMember('keys', key)) ? true : undefined),
    async close() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

export async function postgresStore(present: readonly string[], lookups: number): Promise<MeasuredStore> {
  const cluster = await PostgresCluster.start();
  const client = new pg.Client(cluster.connection);
  await client.connect();
  await client.query('create table t(k text primary key)');
  await client.query('insert into t select unnest($1::text[])', [present]);
  await client.query('analyze t');
  return {
    name: 'PostgreSQL on a unix socket',
    lookups,
    async lookup(key) {
      const query = { name: 'find', text: 'select 1 from t where k = $1', values: [key] };
      return (await client.query(query)).rows.length > 0 ? true : undefined;
    },
    async close() {
      await client.end();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

export async function httpStore(
  present: readonly string[],
  { name, delayMs, lookups }: { name: string; delayMs: number; lookups: number },
): Promise<MeasuredStore> {
  const keys = new Set(present);
  const server = createServer((asked, response) => {
    response.statusCode = keys.has(asked.url!.slice(1)) ? 200 : 404;
    if (delayMs === 0) response.end();
    else setTimeout(() => response.end(), delayMs);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  return {
    name,
    lookups,
    lookup: (key) =>
      new Promise((resolve, reject) => {
        request({ host: '127.0.0.1', port, path: `/${key}`, method: 'HEAD', agent }, (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode === 200 ? true : undefined));
        })
          .on('error', reject)
          .end();
      }),
    close() {
      agent.destroy();
      server.close();
    },
  };
}
