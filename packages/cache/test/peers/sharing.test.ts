/** Nodes that fetch objects from each other, on real connections. */

import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../proxy/proxy-lab.ts';
import { BUDGET_MS, type Fleet, type FleetNode, planOf, SEARCH_MS, startFleet } from './fleet-lab.ts';

let origin: OriginLab;
let fleet: Fleet;
let a: FleetNode;
let b: FleetNode;
let c: FleetNode;

const storable = ['Cache-Control', 'max-age=60', 'ETag', '"v1"'];
const large = Buffer.alloc(400_000);
for (let at = 0; at < large.length; at++) large[at] = Math.imul(at, 2654435761) >>> 24;

beforeEach(async () => {
  origin = await startOrigin();
  fleet = await startFleet(3);
  [a, b, c] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
});

afterEach(async () => {
  expect(fleet.problems).toEqual([]);
  expect(fleet.clock.pending).toBe(0);
  expect(fleet.nodes.map(({ running }) => running.size)).toEqual([0, 0, 0]);
  await fleet.close();
  await origin.close();
});

/** Stores an object in a node. */
async function keep(node: FleetNode, path: string): Promise<void> {
  expect((await node.proxy.get(origin.url(path))).status).toBe(200);
  await eventually(() => node.flights.all === 0);
}

describe('an object that a neighbour has', () => {
  test('comes from there, once, for all who wait, and is then here', async () => {
    origin.on('/a', { headers: storable, body: large });
    await keep(a, '/a');
    b.plan = () => planOf([a]);
    const replies = await Promise.all(Array.from({ length: 20 }, () => b.proxy.get(origin.url('/a'))));
    for (const { status, body } of replies) expect([status, body.equals(large)]).toEqual([200, true]);
    expect([origin.count('/a'), a.entry.statistics.served]).toEqual([1, 1]);
    await eventually(() => b.flights.all === 0);
    expect((await b.proxy.get(origin.url('/a'))).body.equals(large)).toBe(true);
    expect([origin.count('/a'), a.entry.statistics.served]).toEqual([1, 1]);
    expect(b.ends()).toEqual(['node-a: hit', 'node-a: whole']);
  });

  test.each([
    [1023, false],
    [1024, true],
  ])('is no copy here if the neighbour gave it all the time (%s times)', async (times, isOwn) => {
    origin.on('/a', { headers: storable, body: large });
    await keep(a, '/a');
    b.plan = () => planOf([a]);
    const key = origin.url('/a');
    for (let i = 1; i < times; i++) a.hot.gave(key);
    expect((await b.proxy.get(key)).body.equals(large)).toBe(true);
    await eventually(() => b.flights.all === 0);
    expect(b.store.statistics.copies).toBe(isOwn ? 0 : 1);
    const [stored] = await b.store.find(key);
    expect(stored!.headers.join().toLowerCase()).not.toContain('bloomery-keep');
  });

  test('and that its summary does not have is a false miss, unless it is still coming', async () => {
    const opened: (() => void)[] = [];
    origin.on('/a', async () => {
      await new Promise<void>((open) => opened.push(open));
      return { headers: storable, body: large };
    });
    const falseMisses = () =>
      b.reports.flatMap((each) => (each.kind === 'answered' ? [[each.end, each.isFalseMiss]] : []));
    b.owner = () => a.neighbour;
    b.plan = () => ({ asks: [], candidates: [], afterwards: 'owner' });
    const first = a.proxy.get(origin.url('/a'));
    await eventually(() => opened.length === 1);
    const second = b.proxy.get(origin.url('/a'));
    await eventually(() => a.flights.find(origin.url('/a'), '', () => true)?.waiters === 2);
    opened[0]!();
    await Promise.all([first, second]);
    await eventually(() => a.flights.all + b.flights.all === 0);
    expect(falseMisses().at(-1)).toEqual(['hit', false]);
    await b.proxy.store.removeKey(origin.url('/a'));
    await b.proxy.get(origin.url('/a'));
    expect(falseMisses().at(-1)).toEqual(['hit', true]);
    await b.proxy.store.removeKey(origin.url('/a'));
    b.plan = () => ({ asks: [], candidates: [a.neighbour.address], afterwards: 'owner' });
    await b.proxy.get(origin.url('/a'));
    expect(falseMisses().at(-1)).toEqual(['hit', false]);
  });

  test('is stored as a copy, or like any other in a fleet that keeps everything', async () => {
    origin.on('/a', { headers: storable, body: 'hello' });
    await keep(a, '/a');
    b.plan = () => planOf([a]);
    c.plan = () => planOf([a]);
    c.copies = false;
    for (const node of [b, c]) await keep(node, '/a');
    expect([b, c].map(({ proxy }) => proxy.store.statistics)).toMatchObject([
      { responses: 1, copies: 1 },
      { responses: 1, copies: 0 },
    ]);
    // Both ways, the access log says where it came from.
    expect([b, c].map(({ proxy }) => proxy.records[0])).toMatchObject([
      { outcome: 'neighbour', bytesFromNeighbours: 5, bytesFromOrigin: 0 },
      { outcome: 'neighbour', bytesFromNeighbours: 5, bytesFromOrigin: 0 },
    ]);
  });

  test('has a member of Cache-Status and of Via for each hop, and the age of both', async () => {
    const date = new Date(Date.now() - 30_000).toUTCString();
    origin.on('/a', { headers: [...storable, 'Date', date, 'Age', '7'], body: 'hello' });
    await keep(a, '/a');
    b.plan = () => planOf([a]);
    const first = await b.proxy.get(origin.url('/a'));
    const values = (name: string) =>
      first.rawHeaders.flatMap((each, at) =>
        at % 2 === 1 && first.rawHeaders[at - 1] === name ? [each] : [],
      );
    expect(values('Cache-Status')).toEqual([
      expect.stringMatching(/^node-a; hit; ttl=(2\d|30)$/),
      expect.stringMatching(/^node-b; fwd=uri-miss/),
    ]);
    expect(values('Via')).toEqual(['1.1 node-a', '1.1 node-b']);
    expect(values('Date')).toEqual([date]);
    expect(values('Content-Length')).toEqual(['5']);
    expect(Number(values('Age')[0])).toBeGreaterThanOrEqual(30);
    expect(first.rawHeaders.join()).not.toMatch(/bloomery-/i);
    await eventually(() => b.flights.all === 0);
    const second = await b.proxy.get(origin.url('/a'));
    expect(Number(second.header('age'))).toBeGreaterThanOrEqual(30);
    // It goes stale here when it does there: the neighbour's copy gives no new life.
    b.proxy.advance(31_000);
    await b.proxy.get(origin.url('/a'));
    expect(origin.count('/a')).toBe(2);
  });

  test('is not taken if it varies by a field that stays here', async () => {
    origin.on('/a', (request) => ({
      headers: [...storable, 'Vary', 'X-Tenant'],
      body: request.header('x-tenant') ?? 'none',
    }));
    await keep(a, '/a');
    b.plan = () => planOf([a]);
    expect((await b.proxy.get(origin.url('/a'), ['X-Tenant', '7'])).text).toBe('7');
    expect((await b.proxy.get(origin.url('/a'))).text).toBe('none');
    expect(origin.count('/a')).toBe(2);
    expect(b.ends()).toEqual(['node-a: unusable', 'node-a: hit', 'node-a: whole']);
  });
});

describe('a neighbour that does not have it', () => {
  test('costs one round trip on a connection that stays, and the origin answers', async () => {
    origin.on('/a', { headers: storable, body: 'far' });
    origin.on('/b', { headers: storable, body: 'far' });
    b.plan = () => planOf([a]);
    expect((await b.proxy.get(origin.url('/a'))).text).toBe('far');
    expect((await b.proxy.get(origin.url('/b'))).text).toBe('far');
    expect(b.ends()).toEqual(['node-a: refused', 'node-a: refused']);
    expect(a.wire.connections()).toBe(1);
    expect(b.reports.at(-1)).toMatchObject({ kind: 'answered', summary: { epoch: 0, sequence: 1 } });
  });

  test('is followed by the next one', async () => {
    origin.on('/a', { headers: storable, body: large });
    await keep(c, '/a');
    b.plan = () => planOf([a, c]);
    expect((await b.proxy.get(origin.url('/a'))).body.equals(large)).toBe(true);
    expect(b.ends()).toEqual(['node-a: refused', 'node-c: hit', 'node-c: whole']);
    expect(origin.count('/a')).toBe(1);
  });

  test('or that is not there, or may not share it, does no harm', async () => {
    origin.on('/a', { headers: storable, body: 'far' });
    await keep(a, '/a');
    await keep(c, '/a');
    c.mayShare = false;
    a.wire.kill();
    b.plan = () => planOf([a, c]);
    expect((await b.proxy.get(origin.url('/a'))).text).toBe('far');
    expect(b.ends()).toEqual(['node-a: failed', 'node-c: refused']);
  });
});

describe('a neighbour that answers late', () => {
  test('is given up at its deadline, and the next one asked', async () => {
    origin.on('/a', { headers: storable, body: large });
    await keep(a, '/a');
    await keep(c, '/a');
    a.wire.fault = { holdAfter: 0 };
    b.plan = () => planOf([a, c]);
    const reply = b.proxy.get(origin.url('/a'));
    await eventually(() => a.entry.statistics.served === 1);
    await fleet.clock.advance(100);
    expect((await reply).body.equals(large)).toBe(true);
    expect(b.ends()).toEqual(['node-a: late', 'node-c: hit', 'node-c: whole']);
    expect(origin.count('/a')).toBe(2);
  });

  test('is hedged: the next one is asked as well, and the first head wins', async () => {
    origin.on('/a', { headers: storable, body: large });
    await keep(a, '/a');
    await keep(c, '/a');
    a.wire.fault = { holdAfter: 0 };
    b.plan = () => planOf([a, c], { hedgeAfterMs: 10 });
    const reply = b.proxy.get(origin.url('/a'));
    await eventually(() => a.entry.statistics.served === 1);
    await fleet.clock.advance(10);
    expect((await reply).body.equals(large)).toBe(true);
    expect(b.ends()).toEqual(['node-a: cancelled', 'node-c: hit', 'node-c: whole']);
  });

  test('cannot use more than the budget, whatever the plan says; then the origin answers', async () => {
    const short = large.subarray(0, 60_000);
    origin.on('/a', { headers: storable, body: short });
    await keep(a, '/a');
    // The head comes, and the whole of a short body does not.
    a.wire.fault = { holdAfter: 5000 };
    b.plan = () => planOf([a], { headDeadlineMs: 60_000 });
    const reply = b.proxy.get(origin.url('/a'));
    await eventually(() => a.wire.answered() === 5000);
    await fleet.clock.advance(SEARCH_MS - 1);
    expect(origin.count('/a')).toBe(1);
    await fleet.clock.advance(1);
    expect((await reply).body.equals(short)).toBe(true);
    expect([origin.count('/a'), b.ends()]).toEqual([2, ['node-a: late']]);
  });

  test('leaves no question behind when the client goes', async () => {
    a.wire.fault = { holdAfter: 0 };
    b.plan = () => planOf([a]);
    const leaving = new AbortController();
    const reply = b.proxy.ask({ target: origin.url('/a'), signal: leaving.signal });
    await eventually(() => a.entry.statistics.refused === 1);
    leaving.abort();
    await expect(reply).rejects.toThrow();
    await fleet.clock.advance(BUDGET_MS);
    await eventually(() => b.flights.all === 0);
  });
});

describe('nothing private', () => {
  test('is on the wires between nodes, whatever clients send', async () => {
    const secrets = ['Bearer-s3cret', 'sid-s3cret', 'key-s3cret', 'user-s3cret'];
    const [bearer, cookie, apiKey, user] = secrets as [string, string, string, string];
    const credentials = [
      ...['Authorization', `Bearer ${bearer}`, 'Cookie', `sid=${cookie}`, 'X-Api-Key', apiKey],
      ...['Proxy-Authorization', `Basic ${user}`, 'Referer', `http://x/?${user}`, 'X-Forwarded-For', user],
    ];
    origin.on('/a', { headers: [...storable, 'Set-Cookie', `sid=${cookie}`], body: 'a' });
    origin.on('/b', { headers: ['Cache-Control', 'public, max-age=60', 'ETag', '"v1"'], body: large });
    for (const path of ['/a', '/b']) {
      await a.proxy.get(origin.url(path), credentials);
      b.plan = () => planOf([a]);
      await b.proxy.get(origin.url(path), credentials);
      c.plan = () => planOf([a, b]);
      await c.proxy.get(origin.url(path), credentials);
    }
    expect(a.entry.statistics.served).toBeGreaterThan(0);
    const wires = fleet.nodes.map(({ wire }) => wire.text()).join('');
    expect(wires).toContain('Bloomery-Ask');
    for (const each of secrets) expect(wires).not.toContain(each);
  });
});
