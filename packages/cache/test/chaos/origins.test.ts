/**
 * Origins that fail in every way they can, behind a whole node in a process of its own. For each
 * fault: the client gets a clear answer, or a connection that visibly breaks; in time; nothing of
 * it is stored; others are served as if nothing had happened; and no descriptor stays behind.
 *
 * What a fault may look like to the client is one of four: an error in the node's own words
 * (`refused`), an answer that is cut off (`cut`), either of them, since it depends on what was sent
 * already (`either`), or a whole answer of which the bytes are known (`whole`).
 */

import type { Server } from 'node:net';
import { gzipSync } from 'node:zlib';
import {
  type Fault,
  freePort,
  listen,
  OK,
  RawOrigin,
  say,
  trickle,
} from '@bloomery/testkit/origins/raw-origin';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, rawConnection, send } from '../proxy/proxy-lab.ts';
import { FAULTS, type Want } from './chaos-faults.ts';
import { bundleNode, type ChaosNode, type NodeProgram, startChaosNode } from './chaos-node.ts';

const HEAD_MS = 400;
const IDLE_MS = 400;
/** A slow machine is no fault of the node's. */
const SLACK_MS = 30_000;

let program: NodeProgram;
let origin: RawOrigin;
let port: number;
let node: ChaosNode;
let silent: Server;
let silentPort: number;
let plain: Server;
let plainPort: number;

beforeAll(async () => {
  program = bundleNode();
  origin = new RawOrigin();
  port = await origin.listen();
  [silent, silentPort] = await listen(() => {});
  [plain, plainPort] = await listen((socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  );
  node = await startChaosNode(program, {
    upstream: [
      `/=http://127.0.0.1:${port}/`,
      // Something that does not speak TLS, and something that says nothing.
      `/plain-tls/=https://127.0.0.1:${plainPort}/`,
      `/silent-tls/=https://127.0.0.1:${silentPort}/`,
    ],
    forward: true,
    allowPrivate: true,
    limits: {
      originConnectTimeoutMs: HEAD_MS,
      originHeadTimeoutMs: HEAD_MS,
      originIdleTimeoutMs: IDLE_MS,
      responseHeadBytes: 8192,
      responseBodyBytes: 2_000_000,
      storedObjectBytes: 1_000_000,
    },
  });
  origin.on('/good', (socket) => socket.write(`${OK}Content-Length: 4\r\n\r\ngood`));
  await send(node.port, { target: '/good' });
});

afterAll(async () => {
  const code = await node.stop();
  await origin.close();
  silent.close();
  plain.close();
  program.remove();
  expect([code, node.said]).toEqual([0, []]);
});

interface Outcome {
  readonly status: number;
  readonly ms: number;
  readonly text: string;
  readonly complete: boolean;
  readonly proxyStatus: string;
}

/** Asks by hand, so that an answer that is cut off is seen as such. */
async function ask(target: string): Promise<Outcome> {
  const began = performance.now();
  const raw = await rawConnection(node.port);
  const host = /^https?:\/\/([^/]+)/.exec(target)?.[1] ?? '127.0.0.1';
  raw.socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const ended = () => raw.socket.readableEnded || raw.socket.destroyed;
  const all = await eventually(() => (ended() ? raw.received() : undefined), 100_000).finally(() =>
    raw.socket.destroy(),
  );
  let rest = all;
  while (/^HTTP\/1\.1 1\d\d /.test(rest) && rest.includes('\r\n\r\n'))
    rest = rest.slice(rest.indexOf('\r\n\r\n') + 4);
  const at = rest.indexOf('\r\n\r\n');
  const head = at < 0 ? '' : rest.slice(0, at);
  const body = at < 0 ? '' : rest.slice(at + 4);
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  const chunked = /^transfer-encoding: chunked$/im.test(head);
  const text = chunked ? unchunk(body) : body;
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0),
    ms: performance.now() - began,
    text,
    complete: head !== '' && (chunked ? /(^|\r\n)0\r\n\r\n$/.test(body) : Number(length) === body.length),
    proxyStatus: /^proxy-status: .*?error=([\w-]+)/im.exec(head)?.[1] ?? '',
  };
}

function unchunk(body: string): string {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const line = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.slice(at, line), 16);
    if (line < 0 || !(size > 0)) break;
    text += body.slice(line + 2, line + 2 + size);
    at = line + 4 + size;
  }
  return text;
}

/** Others are served all the while; gives how to stop and what went wrong. */
function bystanders(): () => Promise<string[]> {
  const wrong: string[] = [];
  let over = false;
  const run = async (): Promise<void> => {
    for (let i = 0; !over; i++) {
      const reply = await send(node.port, { target: i % 2 === 0 ? '/good' : `/good?${i % 50}` }).catch(
        String,
      );
      if (typeof reply === 'string') wrong.push(reply);
      else if (reply.status !== 200 || reply.text !== 'good') wrong.push(`${reply.status} ${reply.text}`);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  };
  for (let i = 0; i < 50; i++) origin.on(`/good?${i}`, say(`${OK}Content-Length: 4\r\n\r\ngood`, 'stay'));
  const running = run();
  return async () => {
    over = true;
    await running;
    return wrong;
  };
}

type Expected = readonly [want: Want, status: number | undefined, detail: string | undefined];

async function check(target: string, path: string, expected: Expected): Promise<void> {
  const [want, status, detail] = expected;
  const stop = bystanders();
  const count = () => origin.counts.get(path) ?? 0;
  const outcomes: Outcome[] = [];
  let first = 0;
  let harmed: string[];
  try {
    outcomes.push(await ask(target));
    first = count();
    outcomes.push(...(await Promise.all([ask(target), ask(target), ask(target)])));
  } finally {
    harmed = await stop();
    // A fault that goes on must not disturb the tests that follow.
    origin.drop();
  }
  expect(harmed).toEqual([]);
  for (const outcome of outcomes) {
    const told = JSON.stringify({ ...outcome, text: outcome.text.slice(0, 100) });
    const refused = outcome.complete && (outcome.status === 502 || outcome.status === 504);
    if (want === 'whole') {
      expect([outcome.status, outcome.complete, outcome.text], told).toEqual([status ?? 200, true, detail]);
      continue;
    }
    expect(refused || !outcome.complete, told).toBe(true);
    if (want === 'refused') expect([refused, outcome.status], told).toEqual([true, status ?? outcome.status]);
    if (want === 'refused' && detail !== undefined) expect(outcome.proxyStatus, told).toBe(detail);
    if (want === 'cut') expect([outcome.status, outcome.complete], told).toEqual([200, false]);
    if (refused) expect(outcome.text, told).toMatch(/^https?:\/\/\S+: .+\n$/);
    expect(outcome.ms, told).toBeLessThan(HEAD_MS + IDLE_MS + SLACK_MS);
  }
  // What failed is not stored: the origin was asked again.
  if (want !== 'whole' && path !== '') expect(count()).toBeGreaterThan(first);
  await allReleased();
}

/** Only the descriptors that an idle node has are left. */
async function allReleased(): Promise<void> {
  origin.drop();
  const few = idleSockets();
  let count = Number.NaN;
  await eventually(() => (count = node.descriptors().socket) <= few, 80_000).catch(() => {
    throw new Error(`expected at most ${few} sockets when all is over, got ${count}`);
  });
}

/**
 * Descriptors of an idle node: its listening socket, libuv's and the standard streams. Counted
 * once, before the first fault.
 */
let idle = 0;
function idleSockets(): number {
  return idle;
}

describe('an origin', () => {
  beforeAll(async () => {
    origin.drop();
    await new Promise((resolve) => setTimeout(resolve, 300));
    idle = node.descriptors().socket;
  });

  it.for(FAULTS)('%s', async ([name, fault, want, status, detail]) => {
    const path = `/${name.replaceAll(' ', '-').replaceAll(/[^\w-]/g, '')}`;
    origin.on(path, fault);
    await check(path, path, [want, status, detail]);
  });

  it.each<readonly [string, Fault, string, boolean]>([
    ['sends its body in a trickle', trickle('0123456789', 100), '0123456789', true],
    ['says more than its length', say(`${OK}Content-Length: 3\r\n\r\nabcdef`), 'abc', true],
    [
      'answers as HTTP/1.0 and closes',
      say('HTTP/1.0 200 OK\r\nCache-Control: max-age=600\r\n\r\nuntil the end'),
      'until the end',
      true,
    ],
    [
      'answers as HTTP/1.0 with a length',
      say('HTTP/1.0 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 3\r\n\r\nabc'),
      'abc',
      true,
    ],
    ['has no length and closes', say(`${OK}\r\nuntil the end`), 'until the end', true],
    ['lies about gzip', say(`${OK}Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain`), 'plain', true],
    [
      'cuts its gzip short',
      say(cutGzip()),
      gzipSync('0123456789'.repeat(9)).subarray(0, 12).toString('latin1'),
      true,
    ],
  ])('%s: that is its answer, and stored', async (name, fault, text, stored) => {
    const path = `/${name.replaceAll(' ', '-').replaceAll(/[^\w-]/g, '')}`;
    origin.on(path, fault);
    await check(path, path, ['whole', 200, text]);
    expect(origin.counts.get(path)).toBe(stored ? 1 : 4);
  });

  it('has a name without an address', () =>
    check('http://no-such-name.invalid/a', '', ['refused', 502, 'dns_error']));

  it('does not listen', async () => {
    const closed = await freePort();
    await check(`http://127.0.0.1:${closed}/a`, '', ['refused', 502, 'connection_refused']);
  });

  it('does not speak TLS', async () => {
    const began = await Promise.all([ask('/plain-tls/a'), ask('/plain-tls/b')]);
    for (const { status, proxyStatus, complete } of began)
      expect([status, complete, proxyStatus]).toEqual([502, true, 'tls_protocol_error']);
    await allReleased();
  });

  it('says nothing in the TLS handshake', async () => {
    const outcome = await ask('/silent-tls/a');
    expect([outcome.status, outcome.complete]).toEqual([504, true]);
    expect(outcome.ms).toBeLessThan(HEAD_MS + SLACK_MS);
    await allReleased();
  });

  it('fails half of the time, at random, for a crowd', async () => {
    const path = '/crowd';
    const body = 'x'.repeat(5000);
    origin.on(path, (socket, count) => {
      if (count % 2 === 1) say(`${OK}Content-Length: 5000\r\n\r\n${body.slice(0, 100)}`)(socket, count);
      else say(`${OK}Content-Length: 5000\r\nETag: "1"\r\n\r\n${body}`, 'stay')(socket, count);
    });
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => ask(path)));
    for (const { status, complete, text } of outcomes) {
      if (complete && status === 200) expect(text).toBe(body);
      else expect(status === 502 || !complete).toBe(true);
    }
    expect((await ask(path)).text).toBe(body);
    await allReleased();
  });
});

/** Content codings are the client's business: a cache passes on the bytes that it was given. */
function cutGzip(): Buffer {
  const part = gzipSync('0123456789'.repeat(9)).subarray(0, 12);
  return Buffer.concat([Buffer.from(`${OK}Content-Encoding: gzip\r\nContent-Length: 12\r\n\r\n`), part]);
}
