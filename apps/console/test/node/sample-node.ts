/** A server with the page and with sample data, as a node would serve both. */

import { existsSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import type { FeedEvent } from '../../src/node/feed-state.ts';
import type { Span } from '../../src/node/node-api.ts';
import {
  type SampleOptions,
  sampleAnswers,
  sampleBusiest,
  sampleCounts,
  sampleFleet,
  sampleHello,
  sampleHistory,
  samplePeers,
  sampleWho,
} from './sample-data.ts';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const PREFIX = '/.bloomery/';

export const SAMPLE_TOKEN = 'sample-token-0123456789';

export interface SampleNode extends AsyncDisposable {
  /** The address of the page. */
  readonly address: string;
  /** Questions so far, by endpoint. */
  readonly asked: ReadonlyMap<string, number>;
  /** Sends an event to all open pages. */
  send(event: FeedEvent): void;
  /** Ends all streams, as a node that was killed. */
  cut(): void;
  /** Answers new streams with this status; null serves them again. */
  refuse(status: number | null): void;
  close(): Promise<void>;
}

export async function startSampleNode(dist: string, options: SampleOptions): Promise<SampleNode> {
  const streams = new Set<ServerResponse>();
  const asked = new Map<string, number>();
  let refusal: number | null = null;
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(
    readFileSync(join(dist, 'index.html'), 'utf8'),
  )?.[1];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const endpoint = pathname.slice(PREFIX.length);
    asked.set(endpoint, (asked.get(endpoint) ?? 0) + 1);
    const json = (value: object) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ v: 1, ...value }));
    };
    if (endpoint.startsWith('console/')) {
      const name = endpoint.slice('console/'.length) || 'index.html';
      const path = join(dist, name);
      if (!/^[a-z]+(?:\/[a-z0-9-]+)?\.\w+$/.test(name) || !existsSync(path)) response.writeHead(404).end();
      else {
        response.setHeader('Content-Type', TYPES[extname(path)] ?? 'application/octet-stream');
        response.setHeader('Content-Security-Policy', `${policy}; frame-ancestors 'none'`);
        response.end(readFileSync(path));
      }
    } else if (endpoint === 'events' && refusal !== null) {
      response.writeHead(refusal).end(request.method === 'HEAD' ? undefined : 'Refused');
    } else if (endpoint === 'events' && request.method === 'HEAD') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end();
    } else if (endpoint === 'events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
      response.write('retry: 100\n\n');
      for (const event of firstEvents(options)) response.write(eventText(event));
      streams.add(response);
      response.on('close', () => streams.delete(response));
    } else if (endpoint === 'history')
      json(sampleHistory(options, (searchParams.get('span') ?? 'hour') as Span));
    else if (endpoint === 'status') json({ state: 'running' });
    else if (endpoint === 'answers') json({ answers: sampleAnswers(options), skipped: 0 });
    else if (endpoint === 'fleet') json(sampleFleet(options));
    else if (endpoint === 'who') {
      const isAsking = request.method === 'POST';
      const isAllowed = request.headers.authorization === `Bearer ${SAMPLE_TOKEN}`;
      if (isAsking && !isAllowed) response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end('No token');
      else json(sampleWho(options, searchParams.get('url') ?? '', isAsking));
    } else response.writeHead(404).end('No such endpoint');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return {
    address: `http://127.0.0.1:${port}${PREFIX}console/`,
    asked,
    send(event) {
      for (const stream of streams) stream.write(eventText(event));
    },
    cut() {
      for (const stream of streams) stream.destroy();
    },
    refuse(status) {
      refusal = status;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function firstEvents(options: SampleOptions): FeedEvent[] {
  return [
    { kind: 'hello', data: sampleHello(options) },
    { kind: 'counts', data: sampleCounts(options) },
    { kind: 'peers', data: samplePeers(options) },
    { kind: 'busiest', data: sampleBusiest(options) },
  ];
}

function eventText({ kind, data }: FeedEvent): string {
  return `event: ${kind}\ndata: ${JSON.stringify({ v: 1, ...data })}\n\n`;
}
