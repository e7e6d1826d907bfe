/**
 * The clients `redis` (node-redis) and `ioredis`, seen through one small interface. The caller
 * passes a client in, and nothing is imported: addresses, TLS, passwords and Sentinels are the
 * client's affair.
 *
 * A shared filter never sends a command through the caller's own connection. It makes copies of the
 * client (`duplicate`) that neither reconnect nor queue nor resend. So each copy is one connection
 * to one server, a command that was sent goes to exactly that server or fails, and this package
 * decides itself when to connect again. The caller's client need not even be connected.
 */

import { SharedFilterError } from '../shared-filter-error.ts';
import { CallDeadlines } from './call-deadlines.ts';
import { type Answer, PlainConnection } from './plain-connection.ts';
import { ioRedisSettings, nodeRedisSettings, type PlainSettings } from './plain-settings.ts';

export type RedisArgument = string | Uint8Array;

/** One connection. It breaks once and is then closed. */
export interface RedisConnection {
  /** Sends a command. Text in the reply comes as bytes. Rejects and closes after `withinMs`. */
  call(words: readonly RedisArgument[], withinMs?: number): Promise<unknown>;
  close(): void;
}

/** The part of a client of the package `redis` that is used here. */
export interface NodeRedisClient {
  readonly options?: object | undefined;
  duplicate(overrides?: object): NodeRedisClient;
  connect(): Promise<unknown>;
  destroy(): void;
  sendCommand(words: readonly (string | Buffer)[], options?: object): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** The part of a client of the package `ioredis` that is used here. */
export interface IoRedisClient {
  duplicate(overrides?: object): IoRedisClient;
  connect(): Promise<unknown>;
  disconnect(): void;
  callBuffer(command: string, ...words: (string | Buffer)[]): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** A client that the caller passes in. */
export type RedisClient = NodeRedisClient | IoRedisClient;

/** Time for one command, unless the caller says otherwise. */
const CALL_MS = 10_000;
/** Time for opening a connection of our own, after which the client has its turn. */
const PLAIN_MS = 5000;

/** The address of a server, where it is not that of the caller's client. */
export interface RedisPlace {
  readonly host: string;
  readonly port: number;
}

/** Opens a connection with the settings of the caller's client, to its server or to another one. */
export async function openConnection(client: RedisClient, place?: RedisPlace): Promise<RedisConnection> {
  if (isCluster(client)) {
    throw new TypeError(
      'Cannot use redis: expected a client of one server, got one of a cluster ' +
        '(createClusteredFilter takes a client of one of its nodes)',
    );
  }
  if (isIoRedis(client)) return openIoRedis(client, place);
  if (isNodeRedis(client)) return openNodeRedis(client, place);
  throw new TypeError(
    'Cannot use redis: expected a client of the npm package redis or ioredis (createClient() or new Redis()), ' +
      `got ${typeof client}`,
  );
}

/**
 * Opens a connection for many small calls: by a socket of our own where the settings of the client
 * say how, and else, or if that fails, as `openConnection` does.
 */
export async function openLightConnection(client: RedisClient, place?: RedisPlace): Promise<RedisConnection> {
  const settings = plainSettings(client, place);
  if (settings !== null) {
    try {
      return await openPlain(settings);
    } catch {
      // The client says what is wrong, in its own words.
    }
  }
  return openConnection(client, place);
}

function plainSettings(client: RedisClient, place: RedisPlace | undefined): PlainSettings | null {
  if (isCluster(client)) return null;
  if (isIoRedis(client)) return ioRedisSettings(client, place);
  return isNodeRedis(client) ? nodeRedisSettings(client, place) : null;
}

async function openPlain(settings: PlainSettings): Promise<RedisConnection> {
  const plain = new PlainConnection(settings);
  try {
    await within(PLAIN_MS, plain.enter(settings));
  } catch (error) {
    plain.close();
    throw error;
  }
  return connection({ send: (words, answer) => plain.send(words, answer), close: () => plain.close() });
}

async function openIoRedis(client: IoRedisClient, place: RedisPlace | undefined): Promise<RedisConnection> {
  const copy = client.duplicate({
    ...place,
    lazyConnect: true,
    retryStrategy: null,
    reconnectOnError: null,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Keys are named in full here; a prefix of the caller's would be added to some and not to
    // others.
    keyPrefix: '',
  });
  let lastError: Error | null = null;
  copy.on('error', (error) => {
    lastError = error;
  });
  try {
    await within(CALL_MS, copy.connect());
  } catch (error) {
    copy.disconnect();
    throw unavailable(lastError ?? error);
  }
  return connection({
    send: ([command, ...words], answer) => answerBy(copy.callBuffer(command as string, ...words), answer),
    close: () => copy.disconnect(),
  });
}

async function openNodeRedis(
  client: NodeRedisClient,
  place: RedisPlace | undefined,
): Promise<RedisConnection> {
  const options = (client.options ?? {}) as { readonly socket?: object };
  const copy = client.duplicate({
    // The client has taken the parts of its URL already, and would take the address again.
    ...(place === undefined ? {} : { url: undefined }),
    socket: { ...options.socket, ...place, reconnectStrategy: false },
    disableOfflineQueue: true,
  });
  // Without a listener an error would end the process. Every command rejects as well.
  copy.on('error', () => {});
  try {
    await within(CALL_MS, copy.connect());
  } catch (error) {
    destroy(copy);
    throw unavailable(error);
  }
  return connection({
    send: (words, answer) => answerBy(copy.sendCommand(words, { typeMapping: BYTES }), answer),
    close: () => destroy(copy),
  });
}

/** Text of the server as bytes, and maps as flat lists, as Redis sent them before version 6. */
const BYTES = { 36: Buffer, 37: Array };

function connection(raw: {
  readonly send: (words: (string | Buffer)[], answer: Answer) => void;
  readonly close: () => void;
}): RedisConnection {
  const deadlines = new CallDeadlines();
  const close = () => {
    raw.close();
    deadlines.close();
  };
  return {
    call: (words, withinMs = CALL_MS) =>
      new Promise((resolve, reject) => {
        const deadline = deadlines.begin(withinMs, (isLate) => {
          reject(isLate ? late(withinMs) : closed());
          close();
        });
        raw.send(words.map(buffered), (isDone, value) => {
          deadlines.end(deadline);
          if (isDone) resolve(value);
          else reject(value);
        });
      }),
    close,
  };
}

function answerBy(reply: Promise<unknown>, answer: Answer): void {
  reply.then(
    (value) => answer(true, value),
    (error) => answer(false, error),
  );
}

function destroy(copy: NodeRedisClient): void {
  try {
    copy.destroy();
  } catch {
    // It was closed already.
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late(ms)), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

function late(ms: number): SharedFilterError {
  return new SharedFilterError('unavailable', `Cannot ask Redis: expected an answer within ${ms} ms`);
}

function closed(): SharedFilterError {
  return new SharedFilterError(
    'unavailable',
    'Cannot ask Redis: expected an open connection, got one that was closed',
  );
}

function unavailable(cause: unknown): SharedFilterError {
  if (cause instanceof SharedFilterError) return cause;
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new SharedFilterError('unavailable', `Cannot connect to Redis: ${reason}`, { cause });
}

function buffered(word: RedisArgument): string | Buffer {
  return typeof word === 'string' ? word : Buffer.from(word.buffer, word.byteOffset, word.byteLength);
}

/** Cluster clients of both packages have nodes. */
function isCluster(client: object): boolean {
  const { isCluster: isOfIoRedis, masters } = (client ?? {}) as { isCluster?: unknown; masters?: unknown };
  return isOfIoRedis === true || Array.isArray(masters);
}

function isIoRedis(client: RedisClient): client is IoRedisClient {
  const { callBuffer, duplicate } = (client ?? {}) as Partial<IoRedisClient>;
  return typeof callBuffer === 'function' && typeof duplicate === 'function';
}

function isNodeRedis(client: RedisClient): client is NodeRedisClient {
  const { sendCommand, duplicate } = (client ?? {}) as Partial<NodeRedisClient>;
  return typeof sendCommand === 'function' && typeof duplicate === 'function';
}
