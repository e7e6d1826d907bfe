/**
 * A real origin on 127.0.0.1 for tests. Answers are scripted for each path, and requests are kept
 * and counted. A script can take the raw socket to answer with bytes that no well-behaved server
 * would send.
 *
 * ```ts
 * await using origin = await startOrigin();
 * origin.on('/a', { headers: ['Cache-Control', 'max-age=60'], body: 'hello' });
 * origin.on('/b', (request, count) => ({ body: `${count}: ${request.method}` }));
 * origin.on('/broken', { raw: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell') });
 * origin.count('/a'); // how many requests came for it
 * ```
 *
 * Without `Content-Length` or `Transfer-Encoding` among its fields, a body that is there at once
 * gets a length, and one that comes in pieces is chunked. `Date` is added by the lab's own clock,
 * which `advance` moves, unless the script has one.
 */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export interface LabRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly rawHeaders: readonly string[];
  /** The complete body. */
  readonly body: Buffer;
  /** Value of the first field with that name. */
  header(name: string): string | undefined;
  /** Number of the connection that it came on, counted from 1. */
  readonly connection: number;
}

export interface LabAnswer {
  readonly status?: number;
  readonly statusText?: string;
  /** Flat: name, value, name, value. */
  readonly headers?: readonly string[];
  readonly body?: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** Time to wait before the head is sent. */
  readonly delayMs?: number;
  /** Heads with a 1xx status before the answer. */
  readonly interim?: readonly { readonly status: number; readonly headers?: readonly string[] }[];
  readonly trailers?: readonly string[];
  /** Replaces all of the above: writes anything it wants to the socket. */
  readonly raw?: (socket: Socket, request: LabRequest) => void;
}

type LabScript = LabAnswer | ((request: LabRequest, count: number) => LabAnswer | Promise<LabAnswer>);

export interface OriginLab extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  readonly port: number;
  /** All requests, in order. */
  readonly requests: LabRequest[];
  /** Connections that were opened so far. */
  readonly connections: number;
  /** Connections that are open now. */
  readonly open: number;
  /**
   * Scripts a path. With a query it stands for exactly that target, otherwise for the path with any
   * query.
   */
  on(path: string, script: LabScript): void;
  /** Requests for a path so far, whatever the query. */
  count(path: string): number;
  url(path: string): string;
  /** Moves the clock that `Date` is taken from. */
  advance(ms: number): void;
  /** Closes every connection, at once. */
  dropConnections(): void;
  close(): Promise<void>;
}

export interface LabOptions {
  /** Serves over TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly keepAliveTimeoutMs?: number;
}

export async function startOrigin(options: LabOptions = {}): Promise<OriginLab> {
  const scripts = new Map<string, LabScript>();
  const counts = new Map<string, number>();
  const requests: LabRequest[] = [];
  const sockets = new Map<Socket, number>();
  let connections = 0;
  let offset = 0;
  const date = () => new Date(Date.now() + offset).toUTCString();

  const listener: RequestListener = async (req, res) => {
    // A script may make the client leave. Errors of the answer are then expected.
    req.on('error', ignore);
    res.on('error', ignore);
    const url = req.url ?? '/';
    const path = url.split('?', 1)[0]!;
    const count = (counts.get(path) ?? 0) + 1;
    counts.set(path, count);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of req) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const request = toLabRequest(req, Buffer.concat(chunks), sockets.get(req.socket) ?? 0);
    requests.push(request);
    const script = scripts.get(url) ?? scripts.get(path);
    if (script === undefined) {
      await answer(req, res, request, { status: 404, body: `No script for ${path}` }, date());
      return;
    }
    const chosen = typeof script === 'function' ? await script(request, count) : script;
    await answer(req, res, request, chosen, date());
  };

  const server = options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener);
  server.keepAliveTimeout = options.keepAliveTimeoutMs ?? 30_000;
  server.on(options.tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.set(socket, ++connections);
    socket.on('error', ignore);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const close = async () => {
    for (const socket of sockets.keys()) socket.destroy();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };

  return {
    origin,
    port,
    requests,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    on: (path, script) => scripts.set(path, script),
    count: (path) => counts.get(path) ?? 0,
    url: (path) => origin + path,
    advance(ms) {
      offset += ms;
    },
    dropConnections() {
      for (const socket of sockets.keys()) socket.destroy();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  request: LabRequest,
  script: LabAnswer,
  date: string,
): Promise<void> {
  if (script.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, script.delayMs));
  if (script.raw !== undefined) {
    script.raw(req.socket, request);
    return;
  }
  for (const { status, headers = [] } of script.interim ?? []) {
    let head = `HTTP/1.1 ${status} Interim\r\n`;
    for (let at = 0; at + 1 < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
    req.socket.write(`${head}\r\n`);
  }
  const { body = '', headers = [], trailers } = script;
  const fields = [...headers];
  if (!fields.some((name, at) => at % 2 === 0 && /^date$/i.test(name))) fields.push('Date', date);
  const framed = fields.some(
    (name, at) => at % 2 === 0 && /^(content-length|transfer-encoding)$/i.test(name),
  );
  const status = script.status ?? 200;
  const whole = typeof body === 'string' || body instanceof Uint8Array;
  if (whole && !framed && trailers === undefined && status !== 204 && status !== 304) {
    fields.push('Content-Length', String(Buffer.byteLength(body)));
  }
  if (script.statusText === undefined) res.writeHead(status, fields);
  else res.writeHead(status, script.statusText, fields);
  if (whole) {
    if (trailers !== undefined) {
      res.write(Buffer.from(body));
      res.addTrailers([trailers as [string, string]]);
      res.end();
    } else {
      // Sent as bytes: with a string, Node would write the head together with it, in UTF-8.
      res.end(Buffer.from(body));
    }
    return;
  }
  res.write(Buffer.alloc(0));
  for await (const chunk of body) {
    if (res.destroyed) return;
    if (!res.write(chunk)) await waitForRoom(res);
  }
  res.end();
}

/** Resolves when the answer takes more bytes, or when its client has left. */
export function waitForRoom(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      res.off('drain', go);
      res.off('close', go);
      resolve();
    };
    res.on('drain', go);
    res.on('close', go);
  });
}

function toLabRequest(req: IncomingMessage, body: Buffer, connection: number): LabRequest {
  const { rawHeaders } = req;
  return {
    method: req.method ?? '',
    url: req.url ?? '',
    rawHeaders,
    body,
    connection,
    header(name) {
      const at = rawHeaders.findIndex((each, i) => i % 2 === 0 && each.toLowerCase() === name.toLowerCase());
      return at < 0 ? undefined : rawHeaders[at + 1];
    },
  };
}

function ignore(): void {}
