/**
 * Real servers and a real client for the tests of a whole node: each test has an origin of its own,
 * and closes what it opened.
 */

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
  request,
  type Server,
} from 'node:http';
import { request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { Log } from '../../src/node/log/log.ts';
import { type CacheNode, startNode } from '../../src/node/start-node.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Asked extends RequestOptions {
  readonly body?: string;
  readonly secure?: boolean;
  readonly rejectUnauthorized?: boolean;
}

/** One request on a connection of its own, unless there is an agent. */
export async function ask(
  port: number,
  path: string,
  { body, secure = false, ...options }: Asked = {},
): Promise<Answer> {
  const client = (secure ? secureRequest : request)({
    host: '127.0.0.1',
    port,
    path,
    agent: false,
    timeout: 20_000,
    ...options,
  });
  client.on('timeout', () => client.destroy(new Error(`no answer for ${path} in 20 s`)));
  client.end(body);
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return {
    status: response.statusCode as number,
    headers: response.headers,
    body: Buffer.concat(chunks).toString(),
  };
}

export interface Origin {
  readonly port: number;
  readonly url: string;
  /** Targets, in the order in which they were asked for. */
  readonly asked: string[];
}

/** Undone after each test, the last first. */
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

export function cleanUp(close: () => unknown): void {
  open.push(close);
}

export async function startOrigin(listener?: RequestListener): Promise<Origin> {
  const asked: string[] = [];
  const server: Server = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    if (listener !== undefined) listener(incoming, response);
    else response.writeHead(200, { 'Cache-Control': 'max-age=600' }).end(`${incoming.url} ${asked.length}`);
  });
  // Never: otherwise it closes a connection after 5 s, maybe while it is asked again.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/`, asked };
}

export interface TestNode extends CacheNode {
  readonly port: number;
  readonly lines: Record<string, unknown>[];
}

/** On a free port, in memory, with its log kept. */
export async function startTestNode(flags: Record<string, unknown>): Promise<TestNode> {
  const lines: Record<string, unknown>[] = [];
  const config = loadConfig({
    flags: { listen: ['127.0.0.1:0'], disk: false, logFormat: 'json', shutdownTimeout: '2s', ...flags },
  });
  const log = new Log({
    level: config.logLevel,
    format: 'json',
    write: (line) => lines.push(JSON.parse(line)),
  });
  const node = await startNode(config, { log });
  cleanUp(() => node.close(0));
  return Object.assign(node, { port: node.listen[0].port, lines });
}

export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-operation-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export { until } from '@bloomery/testkit/eventually';
