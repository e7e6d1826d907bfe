/**
 * Passes a request to the worker that owns its key, over a Unix socket, and its answer back.
 * Nothing is decided or changed on the way, except for the fields of a connection (RFC 9110,
 * 7.6.1). The owner gets the client's address in an additional field, which it removes again
 * (`takeClient`). It trusts that field because of its source: the socket lies in a folder that only
 * this user can enter, and has a server of its own. A question of a neighbour comes the same way,
 * from the primary, and has `FROM_NEIGHBOUR` in the place of an address, with the names in the
 * neighbour's certificate if it has one. The owner checks its signature, not the primary, because
 * it remembers which signatures it has seen for its keys.
 *
 * The cost is one more HTTP exchange between two processes. Hits of 10 KB in memory took 50 to 60
 * µs of processor time in one process and 120 to 150 µs in two workers with their primary
 * (docs/guide/cache.md). For such hits, two workers on two cores are no faster than one process.
 * Workers pay off where there is more work than passing bytes on: TLS, large bodies, many misses.
 *
 * If the owner cannot be reached because it is being restarted, the request goes back to
 * `unavailable`, unless some of its body was already read: a body is sent whole or not at all.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';
import { hasBody } from '../../proxy/client/exchange.ts';
import { RequestBody } from '../../proxy/client/request-body.ts';
import { LIMITS } from '../../safety/limits.ts';
import { cutConnection, hasTurn } from '../../safety/node-internals.ts';
import { type OwnAnswer, sendOwnAnswer } from '../../safety/own-answer.ts';
import { queuedOn } from '../../safety/queued-responses.ts';
import { listen } from '../listen/node-servers.ts';
import type { Team } from './team.ts';

const WORKER_FAILED: OwnAnswer = {
  status: 502,
  code: 'worker-failed',
  message: 'The worker process that had this request failed; try again.',
  error: 'proxy_internal_error',
};
const RELAY_FIELD = 'Bloomery-Relayed-For';
/** The client of a request that came to the peer port. No address looks like this. */
export const FROM_NEIGHBOUR = 'neighbour';

/** The client of a request of a neighbour whose certificate has these names, if it has one. */
export function fromNeighbour(names: readonly string[] | null): string {
  return names === null ? FROM_NEIGHBOUR : `${FROM_NEIGHBOUR} ${names.join(',')}`;
}

/**
 * The names in the certificate of a neighbour, or null if it has none. Undefined if the client is
 * no neighbour.
 */
export function neighbourNames(client: string): readonly string[] | null | undefined {
  if (client === FROM_NEIGHBOUR) return null;
  return client.startsWith(`${FROM_NEIGHBOUR} `)
    ? client.slice(FROM_NEIGHBOUR.length + 1).split(',')
    : undefined;
}

/** The client of a request that another worker makes for itself. */
export const FROM_WORKER = 'worker';
/** The longest wait for the answer to such a request. */
const WORKER_MS = 10_000;

export class Relay {
  readonly #team: Pick<Team, 'socketPath'>;
  readonly #name: () => string;
  readonly #pools = new Map<number, Pool>();

  constructor(team: Pick<Team, 'socketPath'>, name: () => string) {
    this.#team = team;
    this.#name = name;
  }

  send(
    request: IncomingMessage,
    response: ServerResponse,
    { client, owner }: { readonly client: string; readonly owner: number },
    unavailable: () => void,
  ): void {
    const body = hasBody(request) ? new RequestBody(request, Number.POSITIVE_INFINITY) : null;
    const isSafe = request.method === 'GET' || request.method === 'HEAD';
    const exchange = new RelayedExchange(response, this.#name, (error) => {
      // A request that may have reached the owner is repeated only if it is safe, and a body that
      // was partly read cannot be read again.
      if (!(isUnreachable(error) || isSafe) || (body !== null && !body.giveBack())) return false;
      unavailable();
      return true;
    });
    if (exchange.over) return;
    this.#pool(owner).dispatch(
      {
        method: request.method as Dispatcher.HttpMethod,
        path: withLowerCaseScheme(request.url as string),
        headers: fieldsToRelay(request, client),
        body,
      },
      exchange,
    );
  }

  /** The body of another worker's own answer. Rejects if the worker does not answer. */
  async fetch(owner: number, path: string): Promise<Uint8Array> {
    const { statusCode, body } = await this.#pool(owner).request({
      method: 'GET',
      path,
      headers: { [RELAY_FIELD]: FROM_WORKER },
      headersTimeout: WORKER_MS,
      bodyTimeout: WORKER_MS,
    });
    const bytes = new Uint8Array(await body.arrayBuffer());
    if (statusCode !== 200)
      throw new Error(`Cannot fetch from worker ${owner}: expected status 200, got ${statusCode}`);
    return bytes;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy().catch(() => {})));
  }

  #pool(owner: number): Pool {
    let pool = this.#pools.get(owner);
    if (pool === undefined) {
      pool = new Pool('http://relay', {
        socketPath: this.#team.socketPath(owner),
        // The owner keeps the timeouts, so that no request is subject to two of them.
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: 600_000,
        keepAliveMaxTimeout: 600_000,
        // More than the owner accepts from an origin, plus its additions.
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
  readonly #name: () => string;
  readonly #unavailable: (error: Error) => boolean;
  #controller: Dispatcher.DispatchController | null = null;
  /** Some of the body was written. */
  #begun = false;
  /** The client has disconnected, or the response is complete. */
  over = false;
  /** The callbacks of responses whose turn on the connection has not come. */
  #queued: Set<() => void> | null = null;

  constructor(response: ServerResponse, name: () => string, unavailable: (error: Error) => boolean) {
    this.#response = response;
    this.#name = name;
    this.#unavailable = unavailable;
    response.once('close', this.#left);
    if (hasTurn(response)) return;
    // Queued behind another answer (RFC 9112, 9.3.2): Node does not tell such a response that its
    // connection is closed.
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
    if (this.over || this.#response.destroyed)
      controller.abort(new Error('Cannot relay the answer: the client left'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    text = '',
  ): void {
    if (status < 200) {
      if (status === 103) this.#hint(controller.rawHeaders as Buffer[]);
      // The owner tells a neighbour to go on waiting (`peers/head-wait.ts`).
      else if (status === 102 && this.#mayInterim) this.#response.writeProcessing();
      return;
    }
    const raw = controller.rawHeaders as Buffer[];
    const { method, httpVersion } = this.#response.req;
    // Node writes trailers after a chunked body only, and throws if they are announced for another.
    const announces = method !== 'HEAD' && httpVersion === '1.1' && isChunked(raw);
    this.#response.writeHead(status, text, fieldsOfConnectionRemoved(raw, announces));
    // A small body arrives at once, and is sent together with the head. For a slow body, the head
    // is sent without waiting.
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
    // A partial body must not end regularly, because the client would take it for the whole.
    if (this.#response.headersSent) cutConnection(this.#response);
    else if (!this.#unavailable(error)) sendOwnAnswer(this.#response, this.#name(), WORKER_FAILED, true);
  }

  /**
   * Forwards an early hint. Hints are optional: Node throws for links that it does not accept, and
   * nothing is lost without them.
   */
  #hint(raw: readonly Buffer[]): void {
    if (!this.#mayInterim) return;
    try {
      this.#response.writeEarlyHints(earlyHints(raw));
    } catch {
      // The client gets the final response.
    }
  }

  /**
   * Whether an interim response may be sent. RFC 9110, 15.2 forbids it for an HTTP/1.0 client. For
   * a queued answer, Node would write it between the head and the body of the answer before it.
   */
  get #mayInterim(): boolean {
    return this.#response.req.httpVersion === '1.1' && hasTurn(this.#response);
  }

  readonly #flush = (): void => {
    if (!this.#begun && !this.over) this.#response.flushHeaders();
  };

  readonly #left = (): void => {
    if (this.over) return;
    this.#end();
    this.#controller?.abort(new Error('Cannot relay the answer: the client left'));
  };

  #end(): void {
    this.over = true;
    this.#response.off('close', this.#left);
    this.#queued?.delete(this.#left);
  }
}

/** The receiving end: takes requests of other workers. */
export class RelayServer {
  readonly #server: Server;

  constructor(handle: (request: IncomingMessage, response: ServerResponse, client: string) => void) {
    // The worker that accepted the request has checked it. Size and time are unlimited here,
    // because the client determines both, and because limits may be raised while such connections
    // are open.
    this.#server = createServer({
      requireHostHeader: false,
      maxHeaderSize: 2 * LIMITS.headBytes.max,
      requestTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout: 0,
    });
    this.#server.maxHeadersCount = 2 * LIMITS.headerCount.max;
    this.#server.on('request', (request, response) => {
      const client = takeClient(request);
      if (client === null) request.socket.destroy();
      else handle(request, response, client);
    });
  }

  async open(path: string): Promise<void> {
    // Exclusive: otherwise the socket of a worker would belong to the primary, and be shared among
    // workers.
    await listen(this.#server, { path, exclusive: true });
    // A worker that cannot connect asks the origin itself; an error without a listener would end
    // this process.
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

/**
 * Restores the request as the client sent it, in the owner, and returns the client's address.
 * Returns null if the request was not relayed and cannot be trusted.
 */
function takeClient(request: IncomingMessage): string | null {
  const { rawHeaders: raw } = request;
  // The field is not always the last one: undici may append the length of a body after it.
  let at = raw.length - 2;
  while (at >= 0 && raw[at] !== RELAY_FIELD) at -= 2;
  if (at < 0) return null;
  const client = raw[at + 1];
  raw.splice(at, 2);
  return client;
}

/** The fields to relay: all except those of the connection, plus the client's address. */
function fieldsToRelay(request: IncomingMessage, client: string): string[] {
  const { rawHeaders: raw } = request;
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
  // HTTP/1.0 without Host: undici would write its own.
  if (!hasHost) fields.push('Host', '');
  fields.push(RELAY_FIELD, client);
  return fields;
}

function fieldsOfConnectionRemoved(raw: readonly Buffer[], withTrailer: boolean): string[] {
  const fields: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = text(raw[i]);
    const lower = name.toLowerCase();
    if (!OF_CONNECTION.has(lower) || (lower === 'trailer' && withTrailer))
      fields.push(name, text(raw[i + 1]));
  }
  return fields;
}

function isChunked(raw: readonly Buffer[]): boolean {
  for (let i = 0; i + 1 < raw.length; i += 2)
    if (raw[i].length === 17 && text(raw[i]).toLowerCase() === 'transfer-encoding') return true;
  return false;
}

function earlyHints(raw: readonly Buffer[]): Record<string, string | string[]> {
  const hints: Record<string, string[]> = {};
  for (let i = 0; i + 1 < raw.length; i += 2)
    (hints[text(raw[i]).toLowerCase()] ??= []).push(text(raw[i + 1]));
  return hints;
}

/** RFC 9110, 4.2.3: schemes are case-insensitive; undici accepts only lower case. */
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
