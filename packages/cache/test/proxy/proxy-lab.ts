/**
 * A proxy on a real server on 127.0.0.1, with the guard in front of it as in a node, and a client
 * that says exactly what it is told to.
 */

import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { eventually } from '@bloomery/testkit/eventually';
import { DEFAULT_POLICY } from '../../src/policy/policy-options.ts';
import { type CacheProxy, createProxy } from '../../src/proxy/cache-proxy.ts';
import type { AnswerRecord } from '../../src/proxy/proxy-observer.ts';
import type { ProxyOptions } from '../../src/proxy/proxy-options.ts';
import { AddressGuard } from '../../src/safety/address-guard.ts';
import { ClientGuard } from '../../src/safety/client-guard.ts';
import { guardServer } from '../../src/safety/guard-server.ts';
import { checkLimits, type Limits } from '../../src/safety/limits.ts';
import { applyServerSettings, serverOptions } from '../../src/safety/server-settings.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import type { ResponseStore } from '../../src/store/response-store.ts';

export interface ProxyLab extends AsyncDisposable {
  readonly port: number;
  readonly proxy: CacheProxy;
  readonly store: ResponseStore;
  /** The number of requests that reached the proxy so far. */
  asked(): number;
  /** Records that the observer got. */
  readonly records: AnswerRecord[];
  readonly events: {
    readonly level: string;
    readonly name: string;
    readonly fields: Record<string, unknown>;
  }[];
  /** Moves the proxy's clock. */
  advance(ms: number): void;
  get(target: string, headers?: readonly string[], more?: Partial<Ask>): Promise<Reply>;
  ask(ask: Ask): Promise<Reply>;
  close(): Promise<void>;
}

export interface ProxyLabOptions extends Partial<Omit<ProxyOptions, 'limits' | 'store'>> {
  readonly limits?: Partial<Limits>;
  readonly store?: ResponseStore;
  /** The address of every client, in place of that of its connection. */
  readonly client?: string;
}

export interface Ask {
  readonly target: string;
  readonly method?: string;
  /** Flat; Host is added if there is none. */
  readonly headers?: readonly string[];
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** Called when the head of the answer has come. */
  readonly onHead?: () => void;
}

export interface Reply {
  readonly status: number;
  readonly statusText: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
  readonly interim: readonly { readonly status: number; readonly rawHeaders: readonly string[] }[];
  header(name: string): string | undefined;
}

export async function startProxy(options: ProxyLabOptions = {}): Promise<ProxyLab> {
  const limits = checkLimits(options.limits);
  const store = options.store ?? new MemoryStore({ capacityBytes: 64 * 1024 * 1024 });
  const records: AnswerRecord[] = [];
  const events: { level: string; name: string; fields: Record<string, unknown> }[] = [];
  let offset = 0;
  let asked = 0;
  const proxy = createProxy({
    policy: DEFAULT_POLICY,
    clock: () => Date.now() + offset,
    upstreams: [],
    forward: true,
    connectPorts: [443],
    addresses: new AddressGuard({ allowPrivate: true, allow: [], deny: [] }),
    clients: new ClientGuard(),
    observer: {
      answered: (record) => records.push(record),
      event: (level, name, fields) => events.push({ level, name, fields }),
    },
    ...options,
    limits,
    store,
  });
  const server = createServer(serverOptions(limits));
  applyServerSettings(server, limits);
  guardServer(server, {
    limits,
    name: () => DEFAULT_POLICY.name,
    request(req, res, client) {
      asked++;
      return proxy.handle(req, res, options.client ?? client);
    },
    connect: (req, socket, head, client) => proxy.connect(req, socket, head, options.client ?? client),
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ask = (what: Ask) => send(port, what);
  const close = async () => {
    await proxy.close();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await store.close();
  };
  return {
    port,
    proxy,
    store,
    asked: () => asked,
    records,
    events,
    advance(ms) {
      offset += ms;
    },
    get: (target, headers = [], more = {}) => ask({ target, headers, ...more }),
    ask,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** One request on a connection of its own; rejects if the answer is cut. */
export function send(port: number, ask: Ask): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = [...(ask.headers ?? [])];
    if (!headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')) {
      const authority = /^[a-z]+:\/\/([^/?#]*)/i.exec(ask.target)?.[1];
      headers.push('Host', authority ?? `127.0.0.1:${port}`);
    }
    const interim: { status: number; rawHeaders: string[] }[] = [];
    const req = httpRequest({
      host: '127.0.0.1',
      port,
      method: ask.method ?? 'GET',
      path: ask.target,
      headers: headers as unknown as Record<string, string>,
      agent: false,
      setHost: false,
      ...(ask.signal === undefined ? {} : { signal: ask.signal }),
    });
    req.on('information', ({ statusCode, rawHeaders }) => interim.push({ status: statusCode, rawHeaders }));
    req.on('error', reject);
    req.on('response', (res) => {
      ask.onHead?.();
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => resolve(toReply(res, Buffer.concat(chunks), interim)));
    });
    req.end(ask.body);
  });
}

/** A connection on which a test writes what it wants; `received` is all that came so far. */
export async function rawConnection(port: number): Promise<{
  readonly socket: Socket;
  received(): string;
  /** Resolves when what came matches. */
  until(pattern: RegExp): Promise<string>;
  ended(): Promise<string>;
}> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return {
    socket,
    received: () => text,
    until: (pattern) => eventually(() => (pattern.test(text) ? text : undefined)),
    ended: () => eventually(() => (socket.readableEnded || socket.destroyed ? text : undefined)),
  };
}

export { eventually };

function toReply(
  res: IncomingMessage,
  body: Buffer,
  interim: { status: number; rawHeaders: string[] }[],
): Reply {
  const { rawHeaders } = res;
  return {
    status: res.statusCode!,
    statusText: res.statusMessage!,
    rawHeaders,
    body,
    text: body.toString(),
    interim,
    header(name) {
      const at = rawHeaders.findIndex((each, i) => i % 2 === 0 && each.toLowerCase() === name.toLowerCase());
      return at < 0 ? undefined : rawHeaders[at + 1];
    },
  };
}
