/**
 * The settings of a client that plain-connection.ts needs to reach the same server as the client:
 * address, TLS, user and database.
 *
 * Null means that the client finds or enters its server in a way that only it knows: by Sentinels,
 * by a connector of the caller's, with credentials that change during a connection. The log is
 * then read through a copy of the client.
 */

import type { ConnectionOptions } from 'node:tls';
import type { RedisClient, RedisPlace } from './redis-client.ts';

interface Credentials {
  readonly username?: string | null | undefined;
  readonly password?: string | null | undefined;
}

type SocketOptions = ConnectionOptions & ({ readonly path: string } | { readonly port: number });

export interface PlainSettings {
  /** Address and other options of the socket, with those of TLS if there is TLS. */
  readonly socket: SocketOptions;
  readonly isTls: boolean;
  readonly credentials: () => Promise<Credentials>;
  readonly database: number;
  readonly name: string;
}

/** The options of both clients that count here. */
interface ClientOptions extends Credentials {
  // ioredis
  readonly host?: string | null;
  readonly port?: number | string | null;
  readonly path?: string | null;
  readonly family?: number | string | null;
  readonly db?: number | string | null;
  readonly tls?: ConnectionOptions | boolean | null;
  readonly connectionName?: string | null;
  readonly sentinels?: unknown;
  readonly Connector?: unknown;
  // redis
  readonly socket?: NodeRedisSocket;
  readonly database?: number;
  readonly name?: string | null;
  readonly credentialsProvider?: {
    readonly type?: string;
    readonly credentials?: () => Promise<Credentials>;
  };
}

interface NodeRedisSocket {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly tls?: boolean;
}

const DEFAULT_PORT = 6379;

/** The settings by which a client of `ioredis` connects, or null. */
export function ioRedisSettings(client: RedisClient, place: RedisPlace | undefined): PlainSettings | null {
  const options = (client as { readonly options?: ClientOptions }).options;
  if (options === undefined || options.sentinels || options.Connector) return null;
  const { host, port, path, family, tls, db, username, password, connectionName } = options;
  const isLocal = place === undefined && typeof path === 'string' && path !== '';
  const address = {
    host: host ?? 'localhost',
    port: Number(port ?? DEFAULT_PORT),
    family: Number(family ?? 0),
  };
  return {
    // As the client does it, options of TLS may name another host.
    socket: {
      ...(isLocal ? { path } : address),
      ...(typeof tls === 'object' ? tls : {}),
      ...place,
    } as SocketOptions,
    isTls: Boolean(tls),
    credentials: async () => ({ username, password }),
    database: Number(db ?? 0),
    name: connectionName ?? '',
  };
}

/** The settings by which a client of `redis` connects, or null. */
export function nodeRedisSettings(client: RedisClient, place: RedisPlace | undefined): PlainSettings | null {
  const options = (client as { readonly options?: ClientOptions }).options ?? {};
  const { socket = {}, credentialsProvider: provider, username, password, database, name } = options;
  if (provider !== undefined && provider.type !== 'async-credentials-provider') return null;
  const { path, tls, ...rest } = socket;
  const isLocal = place === undefined && path !== undefined;
  return {
    socket: { ...rest, ...(isLocal ? { path } : { port: rest.port ?? DEFAULT_PORT }), ...place },
    isTls: tls === true,
    credentials: async () => provider?.credentials?.() ?? { username, password },
    database: database ?? 0,
    name: name ?? '',
  };
}
