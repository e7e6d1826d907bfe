/** Objects that are named by their digest, from neighbours and from an origin that forge them. */

import { createHash } from 'node:crypto';
import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, type Reply } from '../proxy/proxy-lab.ts';
import { bodyBytes } from '../store/stored-responses.ts';
import { type Fleet, type FleetNode, planOf, startFleet } from './fleet-lab.ts';

const SHORT_BYTES = 100_000;
const LONG_BYTES = 5_000_000;

let origin: OriginLab;
let fleet: Fleet;
let a: FleetNode;
let b: FleetNode;

beforeEach(async () => {
  origin = await startOrigin();
  fleet = await startFleet(2, 8 << 20);
  [a, b] = fleet.nodes as [FleetNode, FleetNode];
});

afterEach(async () => {
  expect(fleet.problems).toEqual([]);
  expect(fleet.clock.pending).toBe(0);
  await fleet.close();
  await origin.close();
});

const storable = ['Cache-Control', 'max-age=60', 'ETag', '"v1"'];

function blobPath(body: Uint8Array): string {
  return `/v2/library/test/blobs/sha256:${createHash('sha256').update(body).digest('hex')}`;
}

function flipped(body: Uint8Array, at: number): Buffer {
  const wrong = Buffer.from(body);
  wrong[at]! ^= 1;
  return wrong;
}

/** Stores an object in a node, and then other bytes in its place. */
async function forge(node: FleetNode, path: string, wrong: Uint8Array): Promise<void> {
  const { store } = node.proxy;
  const key = origin.url(path);
  expect((await node.proxy.get(key)).status).toBe(200);
  await eventually(() => node.flights.all === 0);
  const [stored] = await store.find(key);
  const writer = store.create(key, wrong.length);
  await writer.write(wrong);
  expect(await writer.commit({ ...stored!, bodyLength: wrong.length })).toBe(true);
}

function forgedReports(node: FleetNode): (string | null)[] {
  return node.reports.flatMap((each) => (each.kind === 'forged' ? [each.neighbour.id] : []));
}

/** The answer, or the bytes that came before it was cut. */
async function getOrCut(node: FleetNode, path: string): Promise<Reply | 'cut'> {
  return node.proxy.get(origin.url(path)).catch(() => 'cut' as const);
}

describe('a body under a URL with its digest', () => {
  test('of 100 kB with one flipped bit comes from the origin instead, without an error', async () => {
    const body = bodyBytes(SHORT_BYTES, 1);
    const path = blobPath(body);
    origin.on(path, { headers: storable, body });
    await forge(a, path, flipped(body, 70_000));
    b.plan = () => planOf([a]);
    const reply = await b.proxy.get(origin.url(path));
    expect([reply.status, reply.body.equals(body)]).toEqual([200, true]);
    expect(origin.count(path)).toBe(2);
    expect(forgedReports(b)).toEqual(['node-a']);
    expect(b.proxy.events.filter(({ name }) => name === 'wrong-digest')).toHaveLength(1);
    await eventually(() => b.flights.all === 0);
    expect((await b.proxy.get(origin.url(path))).header('cache-status')).toContain('hit');
  });

  test('of 5 MB with one flipped bit is cut before its last byte, and is not kept', async () => {
    const body = bodyBytes(LONG_BYTES, 2);
    const path = blobPath(body);
    origin.on(path, { headers: storable, body });
    await forge(a, path, flipped(body, 1));
    b.plan = () => planOf([a]);
    expect(await getOrCut(b, path)).toBe('cut');
    await eventually(() => b.flights.all === 0 && b.proxy.records.length === 1);
    expect(b.proxy.records[0]).toMatchObject({ aborted: true, notStored: 'wrong-digest' });
    expect(b.proxy.records[0]!.bytesOut).toBeLessThan(body.length);
    expect(b.proxy.records[0]!.bytesOut).toBeGreaterThan(body.length - (1 << 20));
    expect(await b.proxy.store.find(origin.url(path))).toEqual([]);
    expect(forgedReports(b)).toEqual(['node-a']);
    // The neighbour is masked now, so the retry of the client asks the origin.
    b.plan = () => planOf([]);
    const again = await b.proxy.get(origin.url(path));
    expect([again.status, again.body.equals(body)]).toEqual([200, true]);
  });

  test('that is right comes from a neighbour, short or long', async () => {
    for (const length of [0, 1, SHORT_BYTES, 1 << 20, (1 << 20) + 1, LONG_BYTES]) {
      const body = bodyBytes(length, 3);
      const path = blobPath(body);
      origin.on(path, { headers: storable, body: Buffer.from(body) });
      expect((await a.proxy.get(origin.url(path))).status).toBe(200);
      await eventually(() => a.flights.all === 0);
      b.plan = () => planOf([a]);
      const reply = await b.proxy.get(origin.url(path));
      expect([reply.status, reply.body.equals(body)], String(length)).toEqual([200, true]);
      expect(origin.count(path)).toBe(1);
    }
    expect(forgedReports(b)).toEqual([]);
  });

  test('is refused from a neighbour if it has a content coding, which would hide a forgery', async () => {
    const body = bodyBytes(SHORT_BYTES, 4);
    const path = blobPath(body);
    let isCoded = true;
    origin.on(path, () => ({
      headers: isCoded ? [...storable, 'Content-Encoding', 'gzip'] : storable,
      body,
    }));
    await forge(a, path, flipped(body, 5));
    isCoded = false;
    b.plan = () => planOf([a]);
    const reply = await b.proxy.get(origin.url(path));
    expect([reply.status, reply.body.equals(body)]).toEqual([200, true]);
    expect(origin.count(path)).toBe(2);
  });

  test('that two sources sent in parts is cut, and no neighbour is blamed for it', async () => {
    const body = bodyBytes(LONG_BYTES, 5);
    const path = blobPath(body);
    origin.on(path, { headers: storable, body });
    await forge(a, path, flipped(body, 1));
    b.plan = () => planOf([a]);
    a.wire.fault = { cutAfter: 2_000_000 };
    origin.on(path, ({ rawHeaders }) => {
      const start = Number(/^bytes=(\d+)-$/.exec(rawHeaders[rawHeaders.indexOf('Range') + 1]!)![1]);
      const range = `bytes ${start}-${LONG_BYTES - 1}/${LONG_BYTES}`;
      return { status: 206, headers: [...storable, 'Content-Range', range], body: body.subarray(start) };
    });
    expect(await getOrCut(b, path)).toBe('cut');
    await eventually(() => b.flights.all === 0);
    expect(b.proxy.events.filter(({ name }) => name === 'wrong-digest')).toHaveLength(1);
    expect(forgedReports(b)).toEqual([]);
    expect(await b.proxy.store.find(origin.url(path))).toEqual([]);
  });
});

describe('the origin itself', () => {
  test('that sends a short wrong body gets 502 to the client, and nothing is kept', async () => {
    const body = bodyBytes(SHORT_BYTES, 6);
    const path = blobPath(body);
    origin.on(path, { headers: storable, body: flipped(body, 0) });
    const reply = await b.proxy.get(origin.url(path));
    expect(reply.status).toBe(502);
    expect(reply.text).toContain('sha256:');
    expect(await b.proxy.store.find(origin.url(path))).toEqual([]);
    expect(b.proxy.events.filter(({ name }) => name === 'wrong-digest')).toHaveLength(1);
  });

  test('that sends a long wrong body is cut, also if the response may not be stored', async () => {
    const body = bodyBytes(LONG_BYTES, 7);
    const path = blobPath(body);
    for (const headers of [storable, ['Cache-Control', 'no-store']]) {
      origin.on(path, { headers, body: flipped(body, LONG_BYTES - 1) });
      expect(await getOrCut(b, path)).toBe('cut');
      expect(await b.proxy.store.find(origin.url(path))).toEqual([]);
    }
  });

  test('that states a Repr-Digest is held to it, and a neighbour that states one is not', async () => {
    const body = bodyBytes(SHORT_BYTES, 8);
    const stated = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
    const headers = [...storable, 'Repr-Digest', stated];
    origin.on('/file', { headers, body: flipped(body, 9) });
    expect((await a.proxy.get(origin.url('/file'))).status).toBe(502);
    origin.on('/file', { headers, body });
    await forge(a, '/file', flipped(body, 9));
    // A neighbour that forges the body forges the field as well: it proves nothing.
    b.plan = () => planOf([a]);
    const reply = await b.proxy.get(origin.url('/file'));
    expect([reply.status, reply.body.equals(flipped(body, 9))]).toEqual([200, true]);
    expect(forgedReports(b)).toEqual([]);
  });

  test('is not checked for a HEAD, a range or a coded body', async () => {
    const body = bodyBytes(SHORT_BYTES, 10);
    const path = blobPath(body);
    const wrong = flipped(body, 0);
    origin.on(path, { headers: storable, body: wrong });
    expect((await b.proxy.ask({ target: origin.url(path), method: 'HEAD' })).status).toBe(200);
    const part = { status: 206, headers: [...storable, 'Content-Range', `bytes 0-9/${wrong.length}`] };
    origin.on(path, { ...part, body: wrong.subarray(0, 10) });
    expect((await b.proxy.get(origin.url(path), ['Range', 'bytes=0-9'])).status).toBe(206);
    origin.on(path, { headers: ['Cache-Control', 'no-store', 'Content-Encoding', 'gzip'], body: wrong });
    expect((await b.proxy.get(origin.url(path))).status).toBe(200);
  });
});

describe('a digest that was learnt from metadata', () => {
  const tarball = '/left-pad/-/left-pad-1.0.0.tgz';

  function packument(body: Uint8Array, url: string): string {
    const integrity = `sha512-${createHash('sha512').update(body).digest('base64')}`;
    return JSON.stringify({ name: 'left-pad', versions: { '1.0.0': { dist: { tarball: url, integrity } } } });
  }

  function offerPackument(body: Uint8Array, url = origin.url(tarball)): void {
    const headers = [...storable, 'Content-Type', 'application/json; charset=utf-8'];
    origin.on('/left-pad', { headers, body: packument(body, url) });
  }

  test('from the origin is used for a body of a neighbour', async () => {
    const body = bodyBytes(SHORT_BYTES, 11);
    offerPackument(body);
    origin.on(tarball, { headers: storable, body });
    await forge(a, tarball, flipped(body, 1));
    await b.proxy.get(origin.url('/left-pad'));
    await eventually(() => b.flights.all === 0);
    b.plan = () => planOf([a]);
    const reply = await b.proxy.get(origin.url(tarball));
    expect([reply.status, reply.body.equals(body)]).toEqual([200, true]);
    expect(forgedReports(b)).toEqual(['node-a']);
  });

  test('from a neighbour is not used', async () => {
    const body = bodyBytes(SHORT_BYTES, 12);
    offerPackument(body);
    origin.on(tarball, { headers: storable, body });
    await a.proxy.get(origin.url('/left-pad'));
    await eventually(() => a.flights.all === 0);
    await forge(a, tarball, flipped(body, 1));
    b.plan = () => planOf([a]);
    await b.proxy.get(origin.url('/left-pad'));
    await eventually(() => b.flights.all === 0);
    expect(origin.count('/left-pad')).toBe(1);
    const reply = await b.proxy.get(origin.url(tarball));
    expect(reply.body.equals(flipped(body, 1))).toBe(true);
    expect(forgedReports(b)).toEqual([]);
  });

  test('says nothing about a URL of another origin', async () => {
    await using other = await startOrigin();
    const body = bodyBytes(SHORT_BYTES, 13);
    offerPackument(body, other.url(tarball));
    other.on(tarball, { headers: storable, body: flipped(body, 1) });
    await b.proxy.get(origin.url('/left-pad'));
    expect((await b.proxy.get(other.url(tarball))).status).toBe(200);
  });

  test('is forgotten after the origin sent another body, which is refused once', async () => {
    const body = bodyBytes(SHORT_BYTES, 14);
    offerPackument(body);
    origin.on(tarball, { headers: storable, body: flipped(body, 1) });
    await b.proxy.get(origin.url('/left-pad'));
    await eventually(() => b.flights.all === 0);
    expect((await b.proxy.get(origin.url(tarball))).status).toBe(502);
    expect((await b.proxy.get(origin.url(tarball))).status).toBe(200);
  });
});
