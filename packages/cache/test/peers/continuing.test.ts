/**
 * Bodies of neighbours that break off, stall or are damaged: a client gets the right bytes, or it
 * sees that they are not all. It never gets a wrong byte.
 */

import { type LabAnswer, type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OriginError } from '../../src/proxy/origin/origin-error.ts';
import type { ResponseSource } from '../../src/proxy/response-source.ts';
import { eventually } from '../proxy/proxy-lab.ts';
import { type Fleet, type FleetNode, planOf, startFleet } from './fleet-lab.ts';

let origin: OriginLab;
let fleet: Fleet;
let a: FleetNode;
let b: FleetNode;
let c: FleetNode;
/** Range of each request to the origin, or null. */
let ranges: (string | null)[];
let version: number;
let tag: (version: number) => string[];

const bodies = [1, 2].map((seed) => {
  const body = Buffer.alloc(400_000);
  for (let at = 0; at < body.length; at++) body[at] = Math.imul(at + seed, 2654435761) >>> 24;
  return body;
});
const [body] = bodies as [Buffer, Buffer];

beforeEach(async () => {
  origin = await startOrigin();
  fleet = await startFleet(3);
  [a, b, c] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  ranges = [];
  version = 0;
  tag = (number) => ['ETag', `"v${number}"`];
  origin.on('/a', (request): LabAnswer => {
    const range = request.header('range') ?? null;
    ranges.push(range);
    const now = bodies[version]!;
    const headers = ['Cache-Control', 'max-age=60', ...tag(version)];
    const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    if (start === 0 || request.header('if-range') !== tag(version)[1]) return { headers, body: now };
    const part = ['Content-Range', `bytes ${start}-${now.length - 1}/${now.length}`];
    return { status: 206, headers: [...headers, ...part], body: now.subarray(start) };
  });
});

afterEach(async () => {
  expect(fleet.problems).toEqual([]);
  expect(fleet.clock.pending).toBe(0);
  await fleet.close();
  await origin.close();
});

async function keep(...nodes: FleetNode[]): Promise<void> {
  for (const node of nodes) {
    await node.proxy.get(origin.url('/a'));
    await eventually(() => node.flights.all === 0);
  }
  ranges = [];
}

/** Asks node b, and moves the clock on until the answer is there. */
async function askB(stalls = false): Promise<Buffer> {
  const reply = b.proxy.get(origin.url('/a'));
  reply.catch(() => {});
  if (stalls) {
    const before = await settled(() => a.wire.answered());
    expect(before).toBeGreaterThan(0);
    await fleet.clock.advance(2000);
  }
  return (await reply).body;
}

/** A number that no longer changes: it is the same in 20 looks, one after the other. */
async function settled(count: () => number): Promise<number> {
  let last = -1;
  let looks = 0;
  await eventually(() => {
    looks = count() === last ? looks + 1 : 0;
    last = count();
    return last > 0 && looks >= 20;
  });
  return last;
}

const places = [1000, 70_000, 150_001, 399_000];

describe('a body that breaks off', () => {
  test('is continued from another neighbour, at the byte where it broke', async () => {
    await keep(a, c);
    b.plan = () => planOf([a, c]);
    for (const cutAfter of places) {
      a.wire.fault = { cutAfter };
      expect((await askB()).equals(body)).toBe(true);
      await b.proxy.store.removeKey(origin.url('/a'));
    }
    expect(ranges).toEqual([]);
    const ends = ['node-a: hit', 'node-a: broken', 'node-c: hit', 'node-c: whole'];
    // Before the first check code there is nothing to continue.
    const atOnce = ['node-a: failed', 'node-c: hit', 'node-c: whole'];
    expect(b.ends()).toEqual([...atOnce, ...ends, ...ends, ...ends]);
    expect(c.wire.text()).toMatch(/Range: bytes=65536-\r\nIf-Range: "v0"/);
  });

  test('is continued from the origin if no neighbour has it, with a range', async () => {
    await keep(a);
    b.plan = () => planOf([a]);
    a.wire.fault = { cutAfter: 150_001 };
    expect((await askB()).equals(body)).toBe(true);
    expect(ranges).toEqual(['bytes=131072-']);
    await eventually(() => b.flights.all === 0);
    expect(b.proxy.records.at(-1)).toMatchObject({
      bytesFromNeighbours: 131_072,
      bytesFromOrigin: body.length - 131_072,
    });
    // What was put together is stored, and right.
    expect((await askB()).equals(body)).toBe(true);
    expect(ranges).toHaveLength(1);
  });

  test('is compared with the whole of the origin if there is no strong tag', async () => {
    for (const fields of [[], ['ETag', 'W/"v0"']]) {
      tag = () => fields;
      await a.proxy.store.removeKey(origin.url('/a'));
      await keep(a);
      b.plan = () => planOf([a]);
      a.wire.fault = { cutAfter: 150_001 };
      expect((await askB()).equals(body)).toBe(true);
      expect(ranges).toEqual([null]);
      a.wire.fault = {};
      await b.proxy.store.removeKey(origin.url('/a'));
    }
  });

  test('is cut if the origin has other bytes by now, whatever the tags say', async () => {
    for (const tagged of [tag, (_version: number) => [], (_version: number) => ['ETag', 'W/"same"']]) {
      tag = tagged;
      version = 0;
      a.wire.fault = {};
      await a.proxy.store.removeKey(origin.url('/a'));
      await keep(a);
      version = 1;
      b.plan = () => planOf([a]);
      a.wire.fault = { cutAfter: 150_001 };
      await expect(askB()).rejects.toThrow();
      b.plan = () => planOf([]);
      expect((await askB()).equals(bodies[1]!)).toBe(true);
      await b.proxy.store.removeKey(origin.url('/a'));
    }
  });

  test('is cut if neither a neighbour nor the origin has the rest', async () => {
    await keep(a);
    b.plan = () => planOf([a]);
    a.wire.fault = { cutAfter: 150_001 };
    const url = origin.url('/a');
    await origin.close();
    await expect(b.proxy.get(url)).rejects.toThrow();
    expect(b.ends()).toEqual(['node-a: hit', 'node-a: broken']);
    await eventually(() => b.flights.all === 0);
    expect(b.proxy.store.find(url)).toEqual([]);
  });

  test('goes on if the last neighbour breaks as well', async () => {
    await keep(a, c);
    b.plan = () => planOf([a, c]);
    a.wire.fault = { cutAfter: 100_000 };
    c.wire.fault = { cutAfter: 200_000 };
    expect((await askB()).equals(body)).toBe(true);
    expect(b.ends()).toEqual(['node-a: hit', 'node-a: broken', 'node-c: hit', 'node-c: broken']);
    expect(ranges).toHaveLength(1);
  });

  test('of which all bytes are proven is complete without the digest at its end', async () => {
    await keep(a);
    b.plan = () => planOf([a]);
    await askB();
    await eventually(() => b.ends().includes('node-a: whole'));
    const whole = a.wire.answered();
    await b.proxy.store.removeKey(origin.url('/a'));
    // The trailer has more than 60 bytes.
    a.wire.fault = { cutAfter: whole - 60 };
    a.wire.dropConnections();
    expect((await askB()).equals(body)).toBe(true);
    await eventually(() => b.ends().at(-1) === 'node-a: broken' && b.flights.all === 0);
    expect([ranges, b.proxy.store.find(origin.url('/a'))]).toEqual([[], [expect.anything()]]);
  });
});

describe('a body that stalls', () => {
  test('is continued from another neighbour, or from the origin, after 2 s', async () => {
    await keep(a, c);
    b.plan = () => planOf([a, c]);
    a.wire.fault = { holdAfter: 150_001 };
    expect((await askB(true)).equals(body)).toBe(true);
    expect([ranges, b.ends().slice(0, 2)]).toEqual([[], ['node-a: hit', 'node-a: stalled']]);
    await b.proxy.store.removeKey(origin.url('/a'));
    b.plan = () => planOf([a]);
    expect((await askB(true)).equals(body)).toBe(true);
    expect(ranges).toEqual(['bytes=131072-']);
  });
});

describe('a body that is damaged', () => {
  test('is never passed on: every flipped bit, in the head and in the body, costs a source only', async () => {
    await keep(a);
    b.plan = () => planOf([a]);
    const random = new Random(15);
    const headPlaces = Array.from({ length: 20 }, (_, at) => 15 + 22 * at);
    const bodyPlaces = Array.from({ length: 15 }, () => random.below(body.length));
    for (const flipAt of [...headPlaces, ...bodyPlaces]) {
      a.wire.fault = { flipAt };
      a.wire.dropConnections();
      expect([flipAt, (await askB()).equals(body)]).toEqual([flipAt, true]);
      await b.proxy.store.removeKey(origin.url('/a'));
      a.wire.fault = {};
      await eventually(() => b.flights.all === 0);
    }
    expect(b.ends().filter((end) => end === 'node-a: damaged').length).toBeGreaterThan(5);
  });

  test('is cut if there is no other source', async () => {
    await keep(a);
    b.plan = () => planOf([a]);
    const url = origin.url('/a');
    await origin.close();
    for (const flipAt of [100_000, 399_999]) {
      a.wire.fault = { flipAt };
      await expect(b.proxy.get(url)).rejects.toThrow();
      await eventually(() => b.flights.all === 0);
      expect(b.proxy.store.find(url)).toEqual([]);
    }
  });
});

describe('the source', () => {
  test('holds everything back while its handler wants nothing, also across a break', async () => {
    await keep(a, c);
    b.plan = () => planOf([a, c]);
    a.wire.fault = { cutAfter: 200_000 };
    const none: ResponseSource = { name: 'none', ask: () => expect.unreachable() };
    const request = { method: 'GET', key: origin.url('/a'), headers: [] };
    const got: Buffer[] = [];
    let held = false;
    await new Promise<void>((resolve, reject) => {
      const fetch = b.source(request, none).ask(
        { ...request, body: null },
        {
          onHead: () => {},
          onData(chunk) {
            if (held) reject(new Error('data while it was held back'));
            got.push(chunk);
            held = true;
            fetch.pause();
            setImmediate(() => {
              held = false;
              fetch.resume();
            });
          },
          onEnd: () => (held ? reject(new Error('the end while it was held back')) : resolve()),
          onError: reject,
        },
      );
    });
    expect(Buffer.concat(got).equals(body)).toBe(true);
    expect(b.ends()).toContain('node-a: broken');
  });

  test('asks no neighbour for a part, a validation, or a request with another method', async () => {
    b.plan = () => expect.unreachable();
    const none: ResponseSource = { name: 'none', ask: () => expect.unreachable() };
    for (const [method, headers] of [
      ['GET', ['Range', 'bytes=0-1']],
      ['GET', ['If-None-Match', '"v0"']],
      ['HEAD', []],
    ] as const) {
      const request = { method, key: origin.url('/a'), headers };
      const errors: unknown[] = [];
      b.source(request, none).ask(
        { ...request, body: null },
        { onHead() {}, onData() {}, onEnd() {}, onError: (error) => errors.push(error) },
      );
      expect(errors).toEqual([expect.any(OriginError)]);
    }
  });
});
