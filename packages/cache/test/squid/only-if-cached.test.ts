/**
 * Every way in which a node can refuse or fail a request with only-if-cached, over real sockets. A
 * Squid passes every status but 502 and 504 on to its client, so the answer is a stored 200, 206 or
 * 304, or 504, or a reset where the request was never read.
 */

import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ask, cleanUp, startOrigin, startTestNode, type TestNode, until } from '../node/scratch.ts';

const ONLY = 'Cache-Control: max-age=259200, only-if-cached';
const ALLOWED = new Set([200, 206, 304, 504]);

/** Answers `/301` and `/404` with that status, and every other path with ten bytes. */
const listener: RequestListener = (req, res) => {
  const status = Number(/^\/(\d{3})$/.exec(req.url ?? '')?.[1] ?? 200);
  res.writeHead(status, {
    'Cache-Control': 'max-age=600',
    ETag: '"v1"',
    ...(status === 301 ? { Location: '/elsewhere' } : {}),
  });
  res.end(status === 200 ? '0123456789' : `status ${status}`);
};

function open(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  cleanUp(() => socket.destroy());
  return socket;
}

/** All statuses that came before the connection was closed. A reset gives none. */
async function statuses(port: number, bytes: string): Promise<number[]> {
  const socket = open(port);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.write(bytes, 'latin1');
  await new Promise((resolve) => socket.once('close', resolve));
  return [...text.matchAll(/^HTTP\/1\.[01] (\d{3}) /gm)].map(([, status]) => Number(status));
}

interface Case {
  readonly title: string;
  /** The request line and fields; Host, only-if-cached and the end of the connection are added. */
  readonly head: (origin: string) => string;
  readonly body?: string;
  readonly expected: number[];
}

const get =
  (path: string, ...fields: string[]) =>
  (origin: string) =>
    [`GET ${origin}${path} HTTP/1.1`, ...fields].join('\r\n');

const CASES: readonly Case[] = [
  { title: 'a stored response', head: get('/a'), expected: [200] },
  { title: 'a range of it', head: get('/a', 'Range: bytes=2-4'), expected: [206] },
  { title: 'a condition that holds', head: get('/a', 'If-None-Match: "v1"'), expected: [304] },
  { title: 'HEAD', head: (origin) => `HEAD ${origin}/a HTTP/1.1`, expected: [200] },
  { title: 'a loop that needs no fetch', head: get('/a', 'Via: 1.1 node-s'), expected: [200] },
  { title: 'a range that it does not have', head: get('/a', 'Range: bytes=100-200'), expected: [504] },
  { title: 'a response that is not stored', head: get('/b'), expected: [504] },
  { title: 'a stored redirect', head: get('/301'), expected: [504] },
  { title: 'a stored 404', head: get('/404'), expected: [504] },
  { title: 'a reload', head: get('/a', 'Pragma: no-cache', 'Cache-Control: no-cache'), expected: [504] },
  { title: 'a response that is too old', head: get('/a', 'Cache-Control: min-fresh=9999'), expected: [504] },
  { title: 'a condition for the origin', head: get('/a', 'If-Match: "v1"'), expected: [504] },
  { title: 'a loop', head: get('/b', 'Via: 1.1 node-s (squid/5.7)'), expected: [504] },
  { title: 'a host that is not allowed', head: () => 'GET http://10.1.2.3/a HTTP/1.1', expected: [504] },
  {
    title: 'a host that does not exist',
    head: () => 'GET http://nowhere.invalid/ HTTP/1.1',
    expected: [504],
  },
  { title: 'another scheme', head: () => 'GET ftp://example.org/a HTTP/1.1', expected: [504] },
  { title: 'a target without a host', head: () => 'GET http:///a HTTP/1.1', expected: [504] },
  { title: 'a target with a user', head: () => 'GET http://u@example.org/a HTTP/1.1', expected: [504] },
  { title: 'a path without an upstream', head: () => 'GET /nothing HTTP/1.1', expected: [504] },
  { title: 'a long URL', head: get(`/${'x'.repeat(9000)}`), expected: [504] },
  { title: 'many fields', head: get('/a', ...Array(150).fill('X-Field: 1')), expected: [504] },
  { title: 'a second Host', head: get('/a', 'Host: other.example'), expected: [504] },
  { title: 'a field that looks like another', head: get('/a', 'Content_Length: 3'), expected: [504] },
  { title: 'an expectation', head: get('/a', 'Expect: a-miracle'), expected: [504] },
  { title: 'another coding', head: get('/a', 'Transfer-Encoding: gzip, chunked'), expected: [504] },
  { title: 'GET with a body', head: get('/a', 'Content-Length: 3'), body: 'abc', expected: [504] },
  ...['POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'OPTIONS', 'TRACE'].map((method) => ({
    title: method,
    head: (origin: string) => `${method} ${origin}/a HTTP/1.1`,
    expected: [504],
  })),
  { title: 'OPTIONS of the node', head: () => 'OPTIONS * HTTP/1.1', expected: [504] },
  { title: 'CONNECT', head: () => 'CONNECT example.org:443 HTTP/1.1', expected: [504] },
  { title: 'CONNECT to a forbidden port', head: () => 'CONNECT example.org:22 HTTP/1.1', expected: [504] },
  {
    title: 'a body that is too long',
    head: (origin) => `POST ${origin}/a HTTP/1.1\r\nContent-Length: 999999999999`,
    expected: [504],
  },
  {
    title: 'a broken chunk',
    head: (origin) => `POST ${origin}/a HTTP/1.1\r\nTransfer-Encoding: chunked`,
    body: 'zz\r\n',
    expected: [504],
  },
  // The parser reads no head here, so the fields are unknown.
  { title: 'a method that does not exist', head: () => 'GRAB /a HTTP/1.1', expected: [] },
  { title: 'another version', head: () => 'GET /a HTTP/3.7', expected: [] },
  { title: 'a bare line break', head: get('/a', 'X: a\rb'), expected: [] },
  { title: 'a head beyond all limits', head: get('/a', `X: ${'x'.repeat(100_000)}`), expected: [] },
];

async function startNode(flags: Record<string, unknown> = {}): Promise<{ node: TestNode; url: string }> {
  const origin = await startOrigin(listener);
  const node = await startTestNode({
    name: 'node-s',
    squidDigest: true,
    allowAddress: ['127.0.0.1'],
    ...flags,
  });
  return { node, url: `http://127.0.0.1:${origin.port}` };
}

test('only-if-cached gets a stored 200, 206 or 304, or 504, or a reset', async () => {
  const { node, url } = await startNode();
  for (const path of ['/a', '/301', '/404']) {
    await ask(node.port, `${url}${path}`);
    await until(
      `${path} to be stored`,
      async () => (await ask(node.port, `${url}${path}`)).headers.age !== undefined,
    );
  }
  for (const { title, head, body = '', expected } of CASES) {
    const bytes = `${head(url)}\r\nHost: sibling.example\r\n${ONLY}\r\nConnection: close\r\n\r\n${body}`;
    const got = await statuses(node.port, bytes);
    expect(got, title).toEqual(expected);
    for (const status of got) expect(ALLOWED, title).toContain(status);
  }
}, 60_000);

test('a client that is not allowed gets 504 to only-if-cached, and 403 without it', async () => {
  const { node, url } = await startNode({ allowClient: ['10.9.9.9'] });
  const head = (fields: string) => `GET ${url}/a HTTP/1.1\r\nHost: x\r\n${fields}Connection: close\r\n\r\n`;
  expect(await statuses(node.port, head(`${ONLY}\r\n`))).toEqual([504]);
  expect(await statuses(node.port, head(''))).toEqual([403]);
});

test('a connection beyond the limits is reset', async () => {
  const { node, url } = await startNode({ limits: ['connectionsPerClient=2'] });
  const held = [open(node.port), open(node.port)];
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  const head = `GET ${url}/a HTTP/1.1\r\nHost: x\r\n${ONLY}\r\nConnection: close\r\n\r\n`;
  expect(await statuses(node.port, head)).toEqual([]);
});

test('requests beyond the number that may wait on one connection get 504', async () => {
  const { node, url } = await startNode({ limits: ['pipelinedRequests=1'] });
  const only = `GET ${url}/b HTTP/1.1\r\nHost: x\r\n${ONLY}\r\n\r\n`;
  const got = await statuses(node.port, `GET ${url}/slow HTTP/1.1\r\nHost: x\r\n\r\n${only}`);
  expect(got).toEqual([200, 504]);
});
