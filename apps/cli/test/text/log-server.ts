/**
 * A server of node:http for folders of logs, on the loopback interface. It answers as object stores
 * and web servers do, with ranges, ETag and Last-Modified, and has faults that a test switches on.
 */

import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

interface Faults {
  /** Sends whole files only. */
  noRanges?: boolean;
  /** Refuses HEAD. */
  noHead?: boolean;
  /** Sends neither ETag nor Last-Modified. */
  noValidators?: boolean;
  /** Answers the first requests for a path with this status. */
  status?: { readonly code: number; readonly times: number; readonly path: RegExp };
  /** Changes an answer before it is sent. */
  lie?: (path: string, answer: RangeAnswer) => RangeAnswer;
  /** Called before each answer. */
  before?: (path: string, request: IncomingMessage) => void;
  /** Breaks the connection after this many bytes of each body that is longer. */
  breakAfter?: number;
  /** Redirects requests for a path that matches to another address. */
  redirect?: { readonly path: RegExp; readonly to: (path: string) => string };
  /** The field that every request must have. */
  authorization?: string;
}

interface RangeAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

export interface LogServer {
  readonly url: string;
  faults: Faults;
  /** Requests so far, as "GET /path bytes=0-9". */
  readonly requests: string[];
  /** The most requests that were answered at a time. */
  readonly parallel: { now: number; most: number };
  close(): Promise<void>;
}

export async function serveLogs(folder: string): Promise<LogServer> {
  const requests: string[] = [];
  const parallel = { now: 0, most: 0 };
  const failed = new Map<string, number>();
  const state: { faults: Faults } = { faults: {} };
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://host').pathname);
    requests.push(`${request.method} ${path}${request.headers.range ? ` ${request.headers.range}` : ''}`);
    parallel.now++;
    parallel.most = Math.max(parallel.most, parallel.now);
    response.on('close', () => parallel.now--);
    answer({ folder, path, request, response, faults: state.faults, failed });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    get faults() {
      return state.faults;
    },
    set faults(faults: Faults) {
      state.faults = faults;
    },
    requests,
    parallel,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Exchange {
  readonly folder: string;
  readonly path: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly faults: Faults;
  readonly failed: Map<string, number>;
}

function answer({ folder, path, request, response, faults, failed }: Exchange): void {
  faults.before?.(path, request);
  const refuse = (code: number, headers = {}) => response.writeHead(code, headers).end();
  const { status, redirect } = faults;
  if (status?.path.test(path) && (failed.get(path) ?? 0) < status.times) {
    failed.set(path, (failed.get(path) ?? 0) + 1);
    return void refuse(status.code, { 'retry-after': '0' });
  }
  if (redirect?.path.test(path)) return void refuse(302, { location: redirect.to(path) });
  if (faults.authorization !== undefined && request.headers.authorization !== faults.authorization)
    return void refuse(401);
  if (faults.noHead && request.method === 'HEAD') return void refuse(405);
  const file = join(folder, path);
  if (!existsSync(file) || !statSync(file).isFile()) return void refuse(404);
  const made = fileAnswer(file, request, faults);
  const { status: code, headers, body } = faults.lie?.(path, made) ?? made;
  response.writeHead(code, headers);
  if (request.method === 'HEAD') response.end();
  else if (faults.breakAfter !== undefined && body.length > faults.breakAfter) {
    response.write(body.subarray(0, faults.breakAfter), () => response.destroy());
  } else response.end(body);
}

function fileAnswer(file: string, request: IncomingMessage, faults: Faults): RangeAnswer {
  const { mtime, mtimeMs, ino } = statSync(file);
  const bytes = readFileSync(file);
  const etag = `"${ino}-${mtimeMs}-${bytes.length}"`;
  const modified = mtime.toUTCString();
  const validators = faults.noValidators ? {} : { etag, 'last-modified': modified };
  const condition = request.headers['if-range'];
  const isSame = condition === undefined || condition === etag || condition === modified;
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  if (range === null || faults.noRanges || !isSame)
    return {
      status: 200,
      headers: { ...validators, 'content-length': String(bytes.length) },
      body: bytes,
    };
  const first = Number(range[1]);
  const last = Math.min(range[2] === '' ? bytes.length : Number(range[2]), bytes.length - 1);
  if (first > last)
    return {
      status: 416,
      headers: { ...validators, 'content-range': `bytes */${bytes.length}` },
      body: Buffer.alloc(0),
    };
  return {
    status: 206,
    headers: {
      ...validators,
      'content-range': `bytes ${first}-${last}/${bytes.length}`,
      'content-length': String(last - first + 1),
    },
    body: bytes.subarray(first, last + 1),
  };
}
