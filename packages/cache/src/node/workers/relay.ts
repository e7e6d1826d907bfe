/**
 * Hands a request to the worker that owns its key, over a Unix socket, and its answer back; nothing is decided or changed on the way except what
 * belongs to a connection (RFC 9110, 7.6.1). The owner sees the client's address and scheme in one more field, which it takes away again
 * (`acceptRelayed`). It believes that field because of where it comes from: the socket lies in a folder that only this user can enter, and is served by
 * a server of its own.
 *
 * What it costs: one more HTTP exchange between two processes. Hits of 10 KB in memory took 50 to 60 µs of processor time in one process and
 * 120 to 150 µs in two workers with their primary (docs/guide/cache.md): two workers on two cores are no faster than one process at those. They pay where the
 * work is more than handing over: TLS, large bodies, many misses.
 *
 * When the owner cannot be reached because it is being restarted, the request goes back to `unavailable`, unless somebody has begun to read its body: it
 * goes whole or not at all.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { type Dispatcher, Pool } from 'undici';
import { hasBody, queuedOn } from '../../proxy/client/exchange.ts';
import { RequestBody } from '../../proxy/client/request-body.ts';
import { LIMITS } from '../../safety/limits.ts';
import { refusal, sendRefusal } from '../../safety/refusal.ts';
import { listen } from '../listen/node-servers.ts';
import type { Team } from './team.ts';

const RELAY_FIELD = 'Bloomery-Relayed-For';

export class Relay {
  readonly #team: Team;
  readonly #pools = new Map<number, Pool>();

  constructor(team: Team) {
    this.#team = team;
  }

  send(request: IncomingMessage, response: ServerResponse, owner: number, unavailable: () => void): void {
    const body = hasBody(request) ? new RequestBody(request, Number.POSITIVE_INFINITY) : null;
    const isSafe = request.method === 'GET' || request.method === 'HEAD';
    const exchange = new RelayedExchange(response, (error) => {
      // A request that may have been heard is asked again only if that changes nothing; and what was read of a body cannot be read again.
      if (!(isUnreachable(error) || isSafe) || (body !== null && !body.giveBack())) return false;
      unavailable();
      return true;
    });
    if (exchange.over) return;
    this.#pool(owner).dispatch(
      {
        method: request.method as Dispatcher.HttpMethod,
        path: withLowerCaseScheme(request.url as string),
        headers: fieldsToRelay(request),
        body,
      },
      exchange,
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy().catch(() => {})));
  }

  #pool(owner: number): Pool {
    let pool = this.#pools.get(owner);
    if (pool === undefined) {
      pool = new Pool('http://relay', {
        socketPath: this.#team.socketPath(owner),
        // The owner keeps the time; so nothing is cut twice.
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: 600_000,
        keepAliveMaxTimeout: 600_000,
        // Above what the owner takes from an origin, and adds to it.
        maxHeaderSize: 2 * 1024 * 1024,
        pipelining: 1,
      });
      this.#pools.set(owner, pool);
    }
    return pool;
  }
}

class RelayedExchange implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #unavailable: (error: Error) => boolean;
  #controller: Dispatcher.DispatchController | null = null;
  /** Something of the body was written. */
  #begun = false;
  /** The client has gone, or all that will come has come. */
  over = false;
  /** Where the others wait whose turn on the connection has not come. */
  #queued: Set<() => void> | null = null;

  constructor(response: ServerResponse, unavailable: (error: Error) => boolean) {
    this.#response = response;
    this.#unavailable = unavailable;
    response.once('close', this.#left);
    if (response.socket !== null) return;
    // Behind another answer (RFC 9112, 9.3.2): Node does not tell such a response that its connection is gone.
    const { socket } = response.req;
    if (socket.destroyed) {
      this.over = true;
      return;
    }
    this.#queued = queuedOn(socket);
    this.#queued.add(this.#left);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.over || this.#response.destroyed) controller.abort(new Error('The client left'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    text = '',
  ): void {
    if (status < 200) {
      if (status === 103) this.#hint(controller.rawHeaders as Buffer[]);
      return;
    }
    this.#response.writeHead(status, text, fieldsOfConnectionRemoved(controller.rawHeaders as Buffer[]));
    // A small body comes at once, and goes out with the head in one piece; for one that takes its time the head does not wait.
    process.nextTick(this.#flush);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#begun = true;
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#end();
    const trailers = (controller.rawTrailers ?? []) as Buffer[];
    if (trailers.length > 0) {
      const pairs: [string, string][] = [];
      for (let i = 0; i + 1 < trailers.length; i += 2) pairs.push([text(trailers[i]), text(trailers[i + 1])]);
      this.#response.addTrailers(pairs);
    }
    this.#response.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.over) return;
    this.#end();
    if (this.#response.destroyed) return;
    // Never a clean end after a part: the client would take it for the whole.
    if (this.#response.headersSent) this.#response.destroy(error);
    else if (!this.#unavailable(error)) {
      sendRefusal(
        this.#response,
        refusal(502, 'worker-failed', 'The worker process that had this request failed; try again.'),
      );
    }
  }

  /** A hint is only a hint: Node throws at links that it does not like, and nothing is lost without them. */
  #hint(raw: readonly Buffer[]): void {
    const { req, socket } = this.#response;
    // RFC 9110, 15.2: no interim response to a client of HTTP/1.0. And behind another answer Node would put it between the head and the body of its own.
    if (req.httpVersion !== '1.1' || socket === null) return;
    try {
      this.#response.writeEarlyHints(earlyHints(raw));
    } catch {
      // The client gets the final response.
    }
  }

  readonly #flush = (): void => {
    if (!this.#begun && !this.over) this.#response.flushHeaders();
  };

  readonly #left = (): void => {
    if (this.over) return;
    this.#end();
    this.#controller?.abort(new Error('The client left'));
  };

  #end(): void {
    this.over = true;
    this.#response.off('close', this.#left);
    this.#queued?.delete(this.#left);
  }
}

/** The other end: takes requests of other workers. */
export class RelayServer {
  readonly #server: Server;

  constructor(handle: (request: IncomingMessage, response: ServerResponse) => void) {
    // Checked by the worker that took them; here size and time are open, for both are the client's. And limits may be raised while such connections are open.
    this.#server = createServer({
      requireHostHeader: false,
      maxHeaderSize: 2 * LIMITS.headBytes.max,
      requestTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout: 0,
    });
    this.#server.maxHeadersCount = 2 * LIMITS.headerCount.max;
    this.#server.on('request', (request, response) => {
      if (acceptRelayed(request)) handle(request, response);
      else request.socket.destroy();
    });
  }

  async open(path: string): Promise<void> {
    // Exclusive: of a worker it would be the primary's, handed round.
    await listen(this.#server, { path, exclusive: true });
    // Who could not connect asks the origin itself; an error without a listener would end this process.
    this.#server.on('error', () => {});
  }

  close(deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#server.closeAllConnections(), deadlineMs);
      this.#server.close(() => {
        clearTimeout(timer);
        resolve();
      });
      this.#server.closeIdleConnections();
    });
  }
}

/** Of the owner: the request as it was when the client sent it. False: it was not relayed, and is not to be trusted. */
function acceptRelayed(request: IncomingMessage): boolean {
  const { rawHeaders: raw, socket } = request;
  // undici may put the length of a body behind it.
  let at = raw.length - 2;
  while (at >= 0 && raw[at] !== RELAY_FIELD) at -= 2;
  if (at < 0) return false;
  const [client, scheme] = raw[at + 1].split(' ');
  raw.splice(at, 2);
  // One request at a time is on such a connection, so its socket can stand for the client's.
  Object.defineProperty(socket, 'remoteAddress', { value: client, configurable: true });
  Object.defineProperty(socket, 'encrypted', { value: scheme === 'https', configurable: true });
  return true;
}

/** All fields but those of the connection, and where it came from. */
function fieldsToRelay(request: IncomingMessage): string[] {
  const { rawHeaders: raw, socket } = request;
  let named: Set<string> | null = null;
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i].length !== 10 || raw[i].toLowerCase() !== 'connection') continue;
    named ??= new Set();
    for (const option of raw[i + 1].split(',')) named.add(option.trim().toLowerCase());
  }
  const fields: string[] = [];
  let hasHost = false;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    if (name === 'host') hasHost = true;
    if (
      !OF_CONNECTION.has(name) &&
      !(named?.has(name) && name !== 'host' && name !== 'content-length') &&
      name !== RELAY_NAME
    )
      fields.push(raw[i], raw[i + 1]);
  }
  // HTTP/1.0 without a Host: undici would write its own.
  if (!hasHost) fields.push('Host', '');
  fields.push(
    RELAY_FIELD,
    `${socket.remoteAddress ?? ''} ${(socket as TLSSocket).encrypted ? 'https' : 'http'}`,
  );
  return fields;
}

function fieldsOfConnectionRemoved(raw: readonly Buffer[]): string[] {
  const fields: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = text(raw[i]);
    if (!OF_CONNECTION.has(name.toLowerCase())) fields.push(name, text(raw[i + 1]));
  }
  return fields;
}

function earlyHints(raw: readonly Buffer[]): Record<string, string | string[]> {
  const hints: Record<string, string[]> = {};
  for (let i = 0; i + 1 < raw.length; i += 2)
    (hints[text(raw[i]).toLowerCase()] ??= []).push(text(raw[i + 1]));
  return hints;
}

/** RFC 9110, 4.2.3: schemes are compared without regard to case; undici takes only one that is written small. */
function withLowerCaseScheme(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:/i, (scheme) => scheme.toLowerCase());
}

function isUnreachable(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return (
    code === 'ECONNREFUSED' || code === 'ENOENT' || code === 'EAGAIN' || code === 'UND_ERR_CONNECT_TIMEOUT'
  );
}

function text(bytes: Buffer): string {
  return bytes.toString('latin1');
}

const RELAY_NAME = RELAY_FIELD.toLowerCase();
const OF_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
]);
