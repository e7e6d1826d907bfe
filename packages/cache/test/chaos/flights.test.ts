/**
 * Single flight under chaos: two hundred clients want the same few objects at once, some leave in
 * the middle, and the origin fails half of the time, in every phase of its answer. Each fetch of an
 * object has a body of its own, named by its ETag, so that an answer put together of two fetches
 * would be seen.
 *
 * Promised: no client gets wrong bytes, a failed fetch fails visibly, no client waits forever, the
 * origin is asked far less often than there are clients and for one object hardly ever twice at a
 * time, and at the end all is as if nothing had been.
 */

import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { withEffort } from '@bloomery/testkit/effort';
import { mix } from '@bloomery/testkit/origins/chaos-world';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../proxy/proxy-lab.ts';
import { bundleNode, type ChaosNode, type NodeProgram, startChaosNode } from './chaos-node.ts';

const CLIENTS = 200;
const KEYS = 4;
const WAVES = withEffort(4, 4);
const BODY_BYTES = 120_000;

const dice = new Random(0xf11);
const random = () => dice.bits() / 2 ** 32;

let program: NodeProgram;
let node: ChaosNode;
let origin: Server;
let healthy = false;
const fetches = new Map<string, number>();
const now = new Map<string, number>();
let mostAtOnce = 0;

beforeAll(async () => {
  program = bundleNode();
  origin = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  node = await startChaosNode(program, {
    upstream: [`/=http://127.0.0.1:${(origin.address() as AddressInfo).port}/`],
    limits: {
      originHeadTimeoutMs: 1000,
      originIdleTimeoutMs: 500,
      flightWaitMs: 20_000,
      connectionsPerClient: 1000,
    },
  });
});
afterAll(async () => {
  const code = await node.stop();
  origin.closeAllConnections();
  origin.close();
  program.remove();
  expect([code, node.said]).toEqual([0, []]);
});

function bodyOf(path: string, count: number): Buffer {
  let seed = count;
  for (let i = 0; i < path.length; i++) seed = mix(seed * 31 + path.charCodeAt(i));
  const words = new Uint32Array(BODY_BYTES / 4);
  for (let i = 0; i < words.length; i++) words[i] = mix(seed + i);
  return Buffer.from(words.buffer);
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const path = req.url as string;
  const count = (fetches.get(path) ?? 0) + 1;
  fetches.set(path, count);
  const running = (now.get(path) ?? 0) + 1;
  now.set(path, running);
  mostAtOnce = Math.max(mostAtOnce, running);
  res.on('error', () => {});
  res.on('close', () => now.set(path, (now.get(path) as number) - 1));
  const fault =
    healthy || random() < 0.5 ? 'none' : dice.pick(['no-head', 'in-body', 'silent', 'status', 'stall']);
  await sleep(40 * random());
  if (fault === 'no-head') return void req.socket.destroy();
  if (fault === 'silent') return;
  if (fault === 'status') return void res.writeHead(503, { 'Cache-Control': 'no-store' }).end('down');
  const body = bodyOf(path, count);
  const chunked = count % 2 === 0;
  res.writeHead(200, {
    ETag: `"${count}"`,
    'Cache-Control': 'max-age=600',
    ...(chunked ? {} : { 'Content-Length': body.length }),
  });
  const stop = fault === 'none' ? body.length : Math.floor(random() * body.length);
  for (let at = 0; at < stop && !res.destroyed; at += 20_000) {
    res.write(body.subarray(at, Math.min(at + 20_000, stop)));
    await sleep(5 * random());
  }
  if (fault === 'none') res.end();
  else if (fault === 'in-body') req.socket.destroy();
}

interface Got {
  readonly kind: 'whole' | 'cut' | 'refused' | 'left' | 'nothing';
  readonly wrong: string | null;
}

function get(path: string, leaveMs: number | null): Promise<Got> {
  return new Promise((resolve) => {
    let left = false;
    const req = request({ host: '127.0.0.1', port: node.port, path, agent: false });
    const leaving = setTimeout(() => {
      left = true;
      req.destroy();
    }, leaveMs ?? 30_000);
    const done = (kind: Got['kind'], wrong: string | null = null) => {
      clearTimeout(leaving);
      // Only clients that wanted to leave may have to wait that long.
      if (left) resolve({ kind: 'left', wrong: leaveMs === null ? `${path}: no end after 30 s` : wrong });
      else resolve({ kind, wrong });
    };
    req.on('error', () => done('nothing'));
    req.on('response', (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', () => {});
      res.on('close', () => {
        const body = Buffer.concat(chunks);
        const { statusCode: status = 0, complete, headers } = res;
        if (status === 200) {
          const expected = bodyOf(path, Number(/"(\d+)"/.exec(String(headers.etag))?.[1]));
          const right = body.equals(expected.subarray(0, complete ? expected.length : body.length));
          done(
            complete ? 'whole' : 'cut',
            right ? null : `${path}: wrong bytes in ${body.length} of ${headers.etag}`,
          );
        } else {
          const known = complete ? [502, 503, 504].includes(status) : left;
          done('refused', known ? null : `${path}: ${status}, complete: ${complete}`);
        }
      });
    });
    req.end();
  });
}

test(`${WAVES} waves of ${CLIENTS} clients, some of whom leave, with an origin that fails half of the time`, async () => {
  const idle = node.descriptors().socket;
  const counts = { whole: 0, cut: 0, refused: 0, left: 0, nothing: 0 };
  const wrong: string[] = [];
  for (let wave = 0; wave < WAVES; wave++) {
    const clients = Array.from({ length: CLIENTS }, async () => {
      await sleep(250 * random());
      return get(`/${wave}/${dice.below(KEYS)}`, random() < 0.3 ? 300 * random() : null);
    });
    for (const { kind, wrong: what } of await Promise.all(clients)) {
      counts[kind]++;
      if (what !== null) wrong.push(what);
    }
    expect(wrong).toEqual([]);
  }
  const asked = [...fetches.values()].reduce((sum, count) => sum + count, 0);
  const told = JSON.stringify({ ...counts, asked, mostAtOnce });
  // Not even a connection without an answer: a fault of the origin is told.
  expect(counts.nothing, told).toBe(0);
  expect(counts.whole, told).toBeGreaterThan((WAVES * CLIENTS) / 10);
  expect(counts.cut + counts.refused, told).toBeGreaterThan(0);
  expect(asked, told).toBeLessThan((WAVES * CLIENTS) / 5);
  expect(mostAtOnce, told).toBeLessThanOrEqual(2);

  healthy = true;
  for (let wave = 0; wave < WAVES; wave++) {
    for (let key = 0; key < KEYS; key++) {
      const path = `/${wave}/${key}`;
      expect(await get(path, null)).toEqual({ kind: 'whole', wrong: null });
      const before = fetches.get(path);
      expect(await get(path, null)).toEqual({ kind: 'whole', wrong: null });
      expect(fetches.get(path)).toBe(before);
    }
  }
  // Who leaves is not refused: nothing that was sent here was wrong.
  expect((await node.status()).requests.refused).toBe(0);
  origin.closeAllConnections();
  await eventually(() => node.descriptors().socket <= idle, 80_000);
});
