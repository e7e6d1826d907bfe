/** Two PostgreSQL clusters for tests of joins, with a client for each. */

import { PostgresCluster } from '@bloomery/testkit/programs/postgres-cluster';
import pg from 'pg';

/** The deadline for the start of both servers. */
export const START_MS = 120_000;

export interface JoinServers {
  readonly nearCluster: PostgresCluster;
  readonly farCluster: PostgresCluster;
  readonly near: pg.Client;
  readonly far: pg.Client;
  /** Drops all tables on both sides. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

export async function startJoinServers(): Promise<JoinServers> {
  const clusters = await Promise.all([PostgresCluster.start(), PostgresCluster.start()]);
  const clients = clusters.map((cluster) => new pg.Client(cluster.connection));
  for (const client of clients) await client.connect();
  return {
    nearCluster: clusters[0],
    farCluster: clusters[1],
    near: clients[0],
    far: clients[1],
    async empty() {
      for (const client of clients) await client.query('drop schema public cascade; create schema public');
    },
    async close() {
      for (const client of clients) await client.end();
      for (const cluster of clusters) await cluster[Symbol.asyncDispose]();
    },
  };
}

/** All values of an async iterable. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}
