/**
 * An origin of objects of any size with known bytes (known-body.ts), behind a line of limited
 * bandwidth that all its answers share. It sends a strong ETag, answers ranges and validations, and
 * counts what it was asked for.
 *
 * A range request counts as a fetch: a fleet that asks for the rest of an object has asked the
 * origin. The bandwidth is limited in this process and not by the kernel's `tbf`, which needs root
 * and a network namespace.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { TokenBucket } from '../token-bucket.ts';
import { knownBody, knownSize } from './known-body.ts';
import { waitForRoom } from './origin-lab.ts';

/** 1.3 ms of 100 Mb/s. */
const PIECE = 16 * 1024;

export interface OriginRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly path: string;
  readonly range: string | null;
  readonly headers: IncomingMessage['headers'];
  /** Bytes of the body that were sent so far. */
  bytes: number;
}

export interface ThrottledOriginOptions {
  /** Limit for all answers together; without it there is none. */
  readonly bytesPerSecond?: number;
  /** Further fields of an answer, or others than the usual ones. */
  readonly fields?: (path: string) => Readonly<Record<string, string>>;
  /** Time before each head. */
  readonly headDelayMs?: number;
  /** A server that listens, whose connections the origin takes. Default: any port on 127.0.0.1. */
  readonly listener?: NetServer;
}

export class ThrottledOrigin implements AsyncDisposable {
  /** All requests, in order. */
  readonly requests: OriginRequest[] = [];
  readonly #options: ThrottledOriginOptions;
  readonly #bucket: TokenBucket | null;
  readonly #server: Server;

  private constructor(options: ThrottledOriginOptions) {
    this.#options = options;
    const { bytesPerSecond } = options;
    this.#bucket = bytesPerSecond === undefined ? null : new TokenBucket(bytesPerSecond);
    this.#server = createServer((req, res) => {
      res.on('error', () => {});
      void this.#answer(req, res);
    });
    // Never: a connection that is closed while it is used again would look like a fault.
    this.#server.keepAliveTimeout = 0;
  }

  static async start(options: ThrottledOriginOptions = {}): Promise<ThrottledOrigin> {
    const origin = new ThrottledOrigin(options);
    if (options.listener === undefined) origin.#server.listen(0, '127.0.0.1');
    else origin.#server.listen(options.listener);
    await once(origin.#server, 'listening');
    return origin;
  }

  /** `http://127.0.0.1:port`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Number of requests for a path, whatever the query; requests for ranges are included. */
  fetches(path: string): number {
    return this.requests.filter((request) => request.path === path).length;
  }

  /** Number of requests for ranges of a path. */
  rangeFetches(path: string): number {
    return this.requests.filter((request) => request.path === path && request.range !== null).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const target = req.url ?? '/';
    const path = target.split('?', 1)[0]!;
    const size = knownSize(path);
    const request: OriginRequest = {
      method: req.method ?? '',
      target,
      path,
      range: req.headers.range ?? null,
      headers: req.headers,
      bytes: 0,
    };
    this.requests.push(request);
    if (this.#options.headDelayMs !== undefined) await pause(this.#options.headDelayMs);
    if (size === null) {
      res.writeHead(404, { 'Content-Length': 0 }).end();
      return;
    }
    const tag = `"${path.slice(1).replaceAll('/', '.')}"`;
    const fields = { ETag: tag, 'Cache-Control': 'max-age=86400', ...this.#options.fields?.(path) };
    if (req.headers['if-none-match'] === tag) {
      res.writeHead(304, fields).end();
      return;
    }
    const [status, start, end] = chosenRange(req, tag, size);
    if (status === 416) {
      res.writeHead(416, { 'Content-Range': `bytes */${size}`, 'Content-Length': 0 }).end();
      return;
    }
    const range = status === 206 ? { 'Content-Range': `bytes ${start}-${end - 1}/${size}` } : {};
    res.writeHead(status, { ...fields, ...range, 'Accept-Ranges': 'bytes', 'Content-Length': end - start });
    if (req.method === 'HEAD') res.end();
    else await this.#send(res, request, knownBody(path).subarray(start, end));
  }

  async #send(res: ServerResponse, request: OriginRequest, body: Buffer): Promise<void> {
    while (request.bytes < body.length) {
      const piece = body.subarray(request.bytes, request.bytes + PIECE);
      const wait = this.#bucket?.reserve(piece.length, performance.now()) ?? 0;
      if (wait > 0) await pause(wait);
      if (res.destroyed) return;
      request.bytes += piece.length;
      if (!res.write(piece)) await waitForRoom(res);
      if (res.destroyed) return;
    }
    res.end();
  }
}

/** Status, first byte, and the byte after the last. */
function chosenRange(req: IncomingMessage, tag: string, size: number): [number, number, number] {
  const range = /^bytes=(\d+)-(\d*)$/.exec(req.headers.range ?? '');
  const condition = req.headers['if-range'];
  if (range === null || (condition !== undefined && condition !== tag)) return [200, 0, size];
  const start = Number(range[1]);
  if (start >= size) return [416, 0, 0];
  return [206, start, range[2] === '' ? size : Math.min(Number(range[2]) + 1, size)];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
