/**
 * The HTTP server of blocks: files that are whole, and files that are being fetched. It answers for
 * the digests that were shared with it and for no other. docs/spec/delivery.md has the requests.
 *
 * Any client that reaches the port may ask. The server only hands out files and takes nothing in.
 * It has limits on connections, on answers at one time and on bytes per second.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Cancel } from '@bloomery/transport';
import { SERVER_LIMITS, type ServerLimits } from './server-limits.ts';
import type { SharedFile } from './shared-file.ts';
import { StateStream } from './state-stream.ts';
import { MOST_PIECE, TokenBucket } from './token-bucket.ts';
import { UploadTurns } from './upload-turns.ts';

export interface BlockServerOptions {
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default: any free port. */
  readonly port?: number | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
}

/** Counts of a server, of all files. */
export interface BlockServerStatus {
  /** Bytes of files that were sent. */
  readonly sentBytes: number;
  readonly followers: number;
  readonly connections: number;
  /** Requests that were refused because a limit was reached. */
  readonly refused: number;
}

const PATH = /^\/delivery\/1\/([0-9a-f]{64})\/(file|list|state)$/;
const MOST_FIELD_BYTES = 8 * 1024;
const KEEP_ALIVE_MS = 30_000;
const RETRY_AFTER_S = 1;
const READ_BYTES = 1024 * 1024;

interface Shared {
  readonly file: SharedFile;
  readonly streams: Set<StateStream>;
  readonly addresses: Map<ServerResponse, string>;
  flush: NodeJS.Timeout | null;
}

export class BlockServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #limits: ServerLimits;
  readonly #shared = new Map<string, Shared>();
  readonly #bucket: TokenBucket | null;
  readonly #turns: UploadTurns;
  readonly #sockets = new Map<string, number>();
  readonly #beat: NodeJS.Timeout;
  #sentBytes = 0;
  #followers = 0;
  #connections = 0;
  #refused = 0;

  private constructor(limits: ServerLimits) {
    this.#limits = limits;
    this.#bucket = limits.bytesPerSecond === null ? null : new TokenBucket(limits.bytesPerSecond);
    this.#turns = new UploadTurns(limits.uploads, limits.waiting);
    this.#server = createServer(
      {
        maxHeaderSize: MOST_FIELD_BYTES,
        headersTimeout: limits.requestMs,
        requestTimeout: limits.requestMs,
        keepAliveTimeout: KEEP_ALIVE_MS,
        connectionsCheckingInterval: Math.min(1000, limits.requestMs),
      },
      (request, response) => {
        response.on('error', () => {});
        this.#answer(request, response).catch(() => response.destroy());
      },
    );
    this.#server.on('connection', (socket) => this.#connected(socket));
    this.#beat = setInterval(() => this.#update(true), limits.heartbeatMs);
    this.#beat.unref();
  }

  static async start({
    host = '127.0.0.1',
    port = 0,
    limits,
  }: BlockServerOptions = {}): Promise<BlockServer> {
    const server = new BlockServer({ ...SERVER_LIMITS, ...limits });
    server.#server.listen(port, host);
    try {
      await once(server.#server, 'listening');
    } catch (error) {
      clearInterval(server.#beat);
      throw error;
    }
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get status(): BlockServerStatus {
    return {
      sentBytes: this.#sentBytes,
      followers: this.#followers,
      connections: this.#connections,
      refused: this.#refused,
    };
  }

  /** Serves a file until the result is called. A file with the same digest is replaced. */
  share(file: SharedFile): Cancel {
    const shared: Shared = { file, streams: new Set(), addresses: new Map(), flush: null };
    this.#shared.set(file.digest, shared);
    const unwatch = file.watch(() => this.#changed(shared));
    return () => {
      unwatch();
      if (shared.flush !== null) clearTimeout(shared.flush);
      if (this.#shared.get(file.digest) !== shared) return;
      this.#shared.delete(file.digest);
      for (const response of shared.addresses.keys()) response.destroy();
    };
  }

  /** How many nodes follow a file. */
  followersOf(digest: string): number {
    return this.#shared.get(digest)?.streams.size ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#beat);
    for (const { flush } of this.#shared.values()) if (flush !== null) clearTimeout(flush);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #connected(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const open = this.#sockets.get(address) ?? 0;
    if (this.#connections >= this.#limits.connections || open >= this.#limits.perAddress) {
      this.#refused++;
      socket.destroy();
      return;
    }
    this.#connections++;
    this.#sockets.set(address, open + 1);
    socket.setNoDelay(true);
    socket.once('close', () => {
      this.#connections--;
      const left = this.#sockets.get(address)! - 1;
      if (left === 0) this.#sockets.delete(address);
      else this.#sockets.set(address, left);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, digest, what] = PATH.exec(request.url ?? '') ?? [];
    const shared = digest === undefined ? undefined : this.#shared.get(digest);
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405);
    if (Number(request.headers['content-length'] ?? 0) > 0 || 'transfer-encoding' in request.headers)
      return refuse(response, 400);
    if (shared === undefined) return refuse(response, 404);
    response.setTimeout(this.#limits.idleMs, () => response.destroy());
    if (what === 'list') this.#sendList(shared.file, response);
    else if (what === 'file') await this.#sendFile(shared.file, request, response);
    else this.#follow(shared, request, response);
  }

  #sendList({ list }: SharedFile, response: ServerResponse): void {
    if (list === null) {
      refuse(response, 404);
      return;
    }
    response.writeHead(200, {
      'Content-Type': 'application/octet-stream',
      'Content-Length': list.bytes.length,
    });
    response.end(list.bytes);
  }

  async #sendFile(file: SharedFile, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { shape, has, isComplete } = file;
    const part = shape === null ? null : rangeOf(request.headers.range, shape.size);
    if (shape === null || (part === null && !isComplete)) return refuse(response, 404);
    if (part === 'unsatisfiable') return refuse(response, 416, { 'Content-Range': `bytes */${shape.size}` });
    const [start, end] = part ?? [0, shape.size];
    for (let at = start; at < end; at += shape.blockBytes)
      if (!has.has(Math.floor(at / shape.blockBytes))) return refuse(response, 404);
    if (end > start && !has.has(Math.floor((end - 1) / shape.blockBytes))) return refuse(response, 404);
    const fields = {
      'Content-Type': 'application/octet-stream',
      'Content-Length': end - start,
      'Accept-Ranges': 'bytes',
      ETag: `"${file.digest}"`,
      ...(part !== null && { 'Content-Range': `bytes ${start}-${end - 1}/${shape.size}` }),
    };
    if (request.method === 'HEAD') {
      response.writeHead(part === null ? 200 : 206, fields).end();
      return;
    }
    if (!(await this.#turns.take())) {
      this.#refused++;
      return refuse(response, 503, { 'Retry-After': RETRY_AFTER_S });
    }
    try {
      if (response.destroyed) return;
      response.writeHead(part === null ? 200 : 206, fields);
      await this.#send(file, response, start, end);
    } finally {
      this.#turns.give();
    }
  }

  async #send(file: SharedFile, response: ServerResponse, start: number, end: number): Promise<void> {
    const step = this.#bucket?.pieceBytes ?? MOST_PIECE;
    for (let at = start; at < end; at += READ_BYTES) {
      const bytes = await file.read(at, Math.min(READ_BYTES, end - at));
      for (let from = 0; from < bytes.length; from += step) {
        const piece = bytes.subarray(from, from + step);
        await this.#bucket?.take(piece.length);
        if (response.destroyed) return;
        this.#sentBytes += piece.length;
        if (!response.write(piece)) await drained(response);
      }
    }
    response.end();
  }

  #follow(shared: Shared, request: IncomingMessage, response: ServerResponse): void {
    if (this.#followers >= this.#limits.followers) {
      this.#refused++;
      refuse(response, 503, { 'Retry-After': RETRY_AFTER_S });
      return;
    }
    this.#followers++;
    const stream = new StateStream(shared.file, response);
    shared.streams.add(stream);
    const address = addressOf(request);
    if (address !== null) {
      shared.addresses.set(response, address);
      shared.file.follower?.(address);
    }
    response.once('close', () => {
      this.#followers--;
      shared.streams.delete(stream);
      shared.addresses.delete(response);
    });
    response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store' });
    stream.update(true);
  }

  #changed(shared: Shared): void {
    shared.flush ??= setTimeout(() => {
      shared.flush = null;
      for (const stream of shared.streams) stream.update(false);
    }, this.#limits.gatherMs);
  }

  #update(beat: boolean): void {
    for (const { streams } of this.#shared.values()) for (const stream of streams) stream.update(beat);
  }
}

/** First byte and the byte after the last; null without a range that this server understands. */
function rangeOf(field: string | undefined, size: number): [number, number] | null | 'unsatisfiable' {
  const match = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(field ?? '');
  if (match === null) return null;
  const start = Number(match[1]);
  const end = match[2] === '' ? size : Math.min(Number(match[2]) + 1, size);
  return start >= size || end <= start ? 'unsatisfiable' : [start, end];
}

/** The address at which a follower serves, by its own port and the address that it comes from. */
function addressOf(request: IncomingMessage): string | null {
  const port = Number(request.headers['bloomery-port']);
  const address = request.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '');
  if (!Number.isInteger(port) || port < 1 || port > 65_535 || address === undefined) return null;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function refuse(
  response: ServerResponse,
  status: number,
  fields: Readonly<Record<string, string | number>> = {},
): void {
  response.writeHead(status, { 'Content-Length': 0, ...fields }).end();
}

async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
