/**
 * A small web in which every byte is known. Objects are a function of their number and version, so
 * that any response through a cache can be checked to the byte, whatever happened on the way.
 *
 * The origin sometimes changes an object's version, and remembers when each version became
 * outdated. The checks of an answer:
 * - the ETag names object and version, and the body is exactly that version's (or the range of it
 *   that Content-Range says);
 * - an answer that ends before its length is *cut*, which the client notices; the bytes that
 *   arrived are checked;
 * - a version that became outdated longer ago than its lifetime allows is *stale*, which is as
 *   wrong as a wrong byte.
 *
 * By number, an object is one of six kinds: kept long, kept a second and then validated, validated
 * each time, kept long and sent in chunks, not to be stored, kept long and large. Sizes range from
 * 0 bytes to some megabytes.
 */

import type { Agent } from 'node:http';
import {
  createServer,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
  request as send,
} from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';

const KINDS = ['long', 'second', 'validated', 'chunked', 'unstored', 'large'] as const;
type Kind = (typeof KINDS)[number];

const CONTROL: Record<Kind, string> = {
  long: 'max-age=86400',
  second: 'max-age=1',
  validated: 'no-cache',
  chunked: 'max-age=86400',
  unstored: 'no-store',
  large: 'max-age=86400',
};

/**
 * How long an outdated version may still be served; `Date` and ages are in whole seconds, so a
 * second counts as up to two.
 */
const MAY_LAST_MS: Record<Kind, number> = {
  long: Number.POSITIVE_INFINITY,
  second: 2500,
  validated: 0,
  chunked: Number.POSITIVE_INFINITY,
  unstored: 0,
  large: Number.POSITIVE_INFINITY,
};

const SMALL = [0, 1, 100, 2000, 10_000, 40_000, 70_000, 200_000];

export interface WorldOptions {
  readonly objects: number;
  /** Size of the smallest large object; the largest has four times as many bytes. */
  readonly largeBytes?: number;
  /** A request changes the object with this probability. */
  readonly changes?: number;
  readonly random?: () => number;
}

export interface Verdict {
  readonly id: number;
  readonly status: number;
  /** Whether it was a hit, by the Cache-Status of the node. */
  readonly hit: boolean;
  readonly bytes: number;
  /** Time to the first byte of the body, or to the end if there was none. */
  readonly firstByteMs: number;
  /** Whether the connection ended before the answer did, and not because the client left. */
  readonly cut: boolean;
  /**
   * Whether the origin has another version by now than the one that was delivered. A node whose
   * source breaks off cannot get the rest of such a body anywhere, and must cut it.
   */
  readonly isOutdated: boolean;
  /** Whether the client left in the middle. */
  readonly left: boolean;
  /** The fault of the answer, or null if it is right. */
  readonly wrong: string | null;
}

/** The error of a request without an answer. */
export interface AskError extends Error {
  /** Whether the connection had carried an answer before. */
  readonly isKept: boolean;
  /**
   * Whether the node had reason to close that connection: it was idle for about as long as the node
   * said that it would keep it (`Keep-Alive: timeout=60`), or the node said nothing. Then the
   * request crossed the closing. A connection that ends earlier is a fault of the node.
   */
  readonly mayBeIdle: boolean;
}

export class World {
  readonly objects: number;
  /** Number of requests at the origin, by object. */
  readonly asked = new Map<number, number>();
  readonly #largeBytes: number;
  readonly #changes: number;
  readonly #random: () => number;
  /** The times at which the versions became outdated. The current version is `length`. */
  readonly #outdated = new Map<number, number[]>();
  readonly #bodies = new Map<string, Buffer>();
  #bodyBytes = 0;
  /** Times at which connections became idle, and how long the node said that it keeps them. */
  readonly #kept = new WeakMap<Socket, { readonly since: number; readonly forMs: number }>();
  readonly #server = createServer((req, res) => this.#answer(req, res));
  requests = 0;

  constructor(options: WorldOptions) {
    this.objects = options.objects;
    this.#largeBytes = options.largeBytes ?? 1_000_000;
    this.#changes = options.changes ?? 0.02;
    this.#random = options.random ?? Math.random;
  }

  /** Begins to answer, on a server that listens already or on any port of 127.0.0.1. */
  async listen(listener?: Server): Promise<number> {
    await new Promise<void>((resolve) => {
      if (listener === undefined) this.#server.listen(0, '127.0.0.1', resolve);
      else this.#server.listen(listener, resolve);
    });
    return (this.#server.address() as AddressInfo).port;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  kind(id: number): Kind {
    return KINDS[id % KINDS.length]!;
  }

  version(id: number): number {
    return this.#outdated.get(id)?.length ?? 0;
  }

  size(id: number, version: number): number {
    const dice = mix(id * 7919 + version * 104_729);
    if (this.kind(id) === 'large') return this.#largeBytes + (dice % (3 * this.#largeBytes));
    // Two versions usually differ in length as well.
    return SMALL[dice % SMALL.length]! + (dice % 3 === 0 ? (dice >>> 8) % 50 : 0);
  }

  body(id: number, version: number): Buffer {
    const key = `${id}-${version}`;
    const known = this.#bodies.get(key);
    if (known !== undefined) return known;
    const size = this.size(id, version);
    const words = new Uint32Array(Math.ceil(size / 4));
    const seed = mix(id * 31 + version * 1_000_003 + 17);
    for (let i = 0; i < words.length; i++) words[i] = mix(seed + i);
    const body = Buffer.from(words.buffer, 0, size);
    this.#bodies.set(key, body);
    this.#bodyBytes += size;
    for (const [old, bytes] of this.#bodies) {
      if (this.#bodyBytes <= 64_000_000) break;
      this.#bodies.delete(old);
      this.#bodyBytes -= bytes.length;
    }
    return body;
  }

  path(id: number): string {
    return `/o/${id}`;
  }

  change(id: number): void {
    const times = this.#outdated.get(id);
    if (times === undefined) this.#outdated.set(id, [Date.now()]);
    else times.push(Date.now());
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    const id = Number(/^\/o\/(\d+)$/.exec(req.url ?? '')?.[1] ?? Number.NaN);
    if (Number.isNaN(id)) {
      res.writeHead(404).end();
      return;
    }
    this.requests++;
    this.asked.set(id, (this.asked.get(id) ?? 0) + 1);
    if (this.#random() < this.#changes) this.change(id);
    const version = this.version(id);
    const tag = `"${id}-${version}"`;
    const kind = this.kind(id);
    const fields = { ETag: tag, 'Cache-Control': CONTROL[kind] };
    if (req.headers['if-none-match'] === tag) {
      res.writeHead(304, fields).end();
      return;
    }
    const body = this.body(id, version);
    const range = /^bytes=(\d+)-(\d*)$/.exec(req.headers.range ?? '');
    const condition = req.headers['if-range'];
    if (range !== null && (condition === undefined || condition === tag) && Number(range[1]) < body.length) {
      const start = Number(range[1]);
      const end = range[2] === '' ? body.length : Math.min(Number(range[2]) + 1, body.length);
      res.writeHead(206, {
        ...fields,
        'Content-Range': `bytes ${start}-${end - 1}/${body.length}`,
        'Content-Length': end - start,
      });
      res.end(body.subarray(start, end));
      return;
    }
    res.writeHead(200, kind === 'chunked' ? fields : { ...fields, 'Content-Length': body.length });
    if (kind === 'chunked' && body.length > 1) res.write(body.subarray(0, body.length >>> 1));
    res.end(kind === 'chunked' && body.length > 1 ? body.subarray(body.length >>> 1) : body);
  }

  /**
   * Asks a node for an object, and judges the answer. Rejects with an `AskError` if there is no
   * answer at all (refused, or reset before a head), and only then.
   */
  ask(port: number, id: number, how: AskHow = {}): Promise<Verdict> {
    const asked = Date.now();
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const headers: Record<string, string> = { ...how.headers };
      if (how.range !== undefined) headers.Range = `bytes=${how.range[0]}-${how.range[1]}`;
      const req = send({
        host: '127.0.0.1',
        port,
        path: this.path(id),
        ...connectionOf(how),
        headers,
      });
      const timer = setTimeout(() => req.destroy(new Error(`no answer within ${ASK_MS} ms`)), ASK_MS);
      req.on('error', (error) => {
        clearTimeout(timer);
        const isKept = req.reusedSocket;
        const kept = isKept && req.socket !== null ? this.#kept.get(req.socket) : undefined;
        const idleMs = kept === undefined ? 0 : began - kept.since;
        const use = kept === undefined ? 'new connection' : `idle for ${Math.round(idleMs)} ms`;
        error.message += ` (${JSON.stringify(headers)}, ${use} of ${kept?.forMs ?? 0})`;
        const mayBeIdle = isKept && idleMs >= (kept?.forMs ?? 0) - LATE_MS;
        reject(Object.assign(error, { isKept, mayBeIdle }) satisfies AskError);
      });
      req.on('response', (res) => {
        const { socket } = res;
        const chunks: Buffer[] = [];
        let bytes = 0;
        let left = false;
        let firstByteMs: number | null = null;
        const judge = (cut: boolean): void => {
          clearTimeout(timer);
          // After the client has left, Node may drop the rest of a packet and still report the
          // answer as complete.
          const verdict = this.#judge(id, res, Buffer.concat(chunks), cut || left, asked);
          firstByteMs ??= performance.now() - began;
          resolve({ ...verdict, firstByteMs, ...(left ? { cut: false, left } : {}) });
        };
        res.on('data', (chunk: Buffer) => {
          firstByteMs ??= performance.now() - began;
          chunks.push(chunk);
          bytes += chunk.length;
          if (how.leaveAfter !== undefined && bytes >= how.leaveAfter && !res.complete) {
            left = true;
            req.destroy();
          }
        });
        res.on('end', () => {
          const said = /^timeout=(\d+)/.exec(String(res.headers['keep-alive']))?.[1];
          this.#kept.set(socket, { since: performance.now(), forMs: 1000 * Number(said ?? 0) });
          judge(false);
        });
        res.on('error', () => judge(true));
        req.on('close', () => {
          if (!res.complete) judge(true);
        });
      });
      req.end();
    });
  }

  #judge(
    id: number,
    res: IncomingMessage,
    body: Buffer,
    cut: boolean,
    asked: number,
  ): Omit<Verdict, 'firstByteMs'> {
    const status = res.statusCode as number;
    const hit = /;\s*hit\b/.test(String(res.headers['cache-status'] ?? ''));
    const wrong = this.#wrong(id, res, body, cut, asked);
    const version = /^"\d+-(\d+)"$/.exec(String(res.headers.etag))?.[1];
    const isOutdated = version !== undefined && Number(version) < this.version(id);
    return { id, status, hit, bytes: body.length, cut, isOutdated, left: false, wrong };
  }

  #wrong(id: number, res: IncomingMessage, body: Buffer, cut: boolean, asked: number): string | null {
    const status = res.statusCode as number;
    const what = `${res.statusCode} for ${id}`;
    if (status >= 500) return null;
    if (status !== 200 && status !== 206 && status !== 416) return `${what}: unexpected status`;
    if (status === 416) return null;
    const tag = /^"(\d+)-(\d+)"$/.exec(String(res.headers.etag));
    if (tag === null || Number(tag[1]) !== id) return `${what}: ETag ${res.headers.etag}`;
    const version = Number(tag[2]);
    const outdated = this.#outdated.get(id)?.[version];
    if (outdated !== undefined && outdated < asked - MAY_LAST_MS[this.kind(id)]) {
      return `${what}: version ${version} was outdated for ${asked - outdated} ms when it was asked for`;
    }
    let expected = this.body(id, version);
    if (status === 206) {
      const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(String(res.headers['content-range']));
      if (range === null || Number(range[3]) !== expected.length)
        return `${what}: Content-Range ${res.headers['content-range']} of ${expected.length} bytes`;
      expected = expected.subarray(Number(range[1]), Number(range[2]) + 1);
    }
    if (!cut && body.length !== expected.length)
      return `${what}: expected ${expected.length} bytes of version ${version}, got ${body.length} (${res.headers['cache-status']}, length ${res.headers['content-length']})`;
    if (body.length > expected.length || body.compare(expected, 0, body.length) !== 0)
      return `${what}: wrong bytes (version ${version}, ${body.length} of ${expected.length}, first at ${firstDifference(body, expected)}, ${res.headers['cache-status']})`;
    return null;
  }
}

export interface AskHow {
  /** Default: a connection of its own. */
  readonly agent?: Agent;
  /** Whether to open a connection of its own by the agent, and to keep it for no other request. */
  readonly isFresh?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** First and last byte. */
  readonly range?: readonly [first: number, last: number];
  /** The client leaves after this many bytes. */
  readonly leaveAfter?: number;
}

const ASK_MS = 30_000;
/**
 * A node counts the idle time from its last byte, a client from when it reads that byte. On a busy
 * machine that is some seconds later.
 */
const LATE_MS = 5000;

/** The connection of a request, as options for `request`. */
function connectionOf({ agent, isFresh, leaveAfter }: AskHow): RequestOptions {
  // A client that leaves ends its connection; from a pool, the next request would get that
  // connection.
  if (agent === undefined || leaveAfter !== undefined) return { agent: false };
  return isFresh ? { createConnection: (options, done) => agent.createConnection(options, done) } : { agent };
}

/** The finaliser of MurmurHash3: any two inputs give unrelated words. */
export function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function firstDifference(one: Buffer, other: Buffer): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) if (one[at] !== other[at]) return at;
  return length;
}
