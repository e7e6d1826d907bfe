import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually, until } from '@bloomery/testkit/eventually';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { SquidDigest, squidKey } from 'bloomery/formats/squid';
import { afterEach, expect, test } from 'vitest';
import { formatHttpDate } from '../../policy/http-date.ts';
import { OriginClient } from '../../proxy/origin/origin-client.ts';
import { AddressGuard } from '../../safety/address-guard.ts';
import { DEFAULT_LIMITS } from '../../safety/limits.ts';
import { SquidLink } from './squid-link.ts';

const close: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of close.splice(0).reverse()) await end();
});

function digestOf(urls: readonly string[], bitsPerEntry = 8): Buffer {
  const digest = SquidDigest.create({ capacity: 100, bitsPerEntry });
  for (const url of urls) digest.add(url);
  return Buffer.from(digest.encode());
}

/** A link under a virtual clock to a server that answers as the listener says. */
async function start(listener: RequestListener, limitBytes = 1e6) {
  const asked: string[] = [];
  const server: Server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url} ${req.headers.via}`);
    listener(req, res);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  close.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const clock = new VirtualClock({ now: 1_700_000_000_000 });
  const client = new OriginClient({
    limits: DEFAULT_LIMITS,
    addresses: new AddressGuard({ allowPrivate: true, allow: [], deny: [] }),
    problem: (problem) => {
      throw problem;
    },
  });
  close.push(() => client.close());
  const events: [string, Record<string, unknown>][] = [];
  const link = new SquidLink(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    clock,
    client,
    via: () => '1.1 node',
    limitBytes,
    event: (_level, name, fields) => events.push([name, fields]),
  });
  close.push(() => link.close());
  return { link, clock, asked, events };
}

/** Waits for the end of a fetch, which sets one timer: that of the next. */
const settled = (events: readonly unknown[], count: number) => eventually(() => events.length >= count);

test('SquidLink fetches the digest in origin form, and again when it expires', async () => {
  let urls = ['http://a.example/1'];
  const { link, clock, asked, events } = await start((_req, res) => {
    const bytes = digestOf(urls);
    res.writeHead(200, {
      'Content-Type': 'application/cache-digest',
      'Content-Length': bytes.length,
      Expires: formatHttpDate(clock.now() + 3_600_000),
    });
    res.end(bytes);
  });
  expect(link.masked).toBe('no digest yet');
  link.start();
  await settled(events, 1);
  expect(link.masked).toBe(null);
  expect([1, 2].map((i) => link.has(squidKey(`http://a.example/${i}`)))).toEqual([true, false]);
  expect(link.report()).toMatchObject({ state: 'up', objects: 1, summaryBytes: 228 });
  expect(asked).toEqual(['GET /squid-internal-periodic/store_digest 1.1 node']);
  urls = ['http://a.example/2'];
  await clock.advance(3_599_000);
  expect(asked).toHaveLength(1);
  // In steps, because the time of a fetch is limited and its bytes are real.
  for (let i = 0; i < 40 && asked.length === 1; i++) await clock.advance(10_000);
  await eventually(() => link.has(squidKey('http://a.example/2')));
  expect(link.has(squidKey('http://a.example/1'))).toBe(false);
});

const FAULTS: readonly [string, RegExp, RequestListener][] = [
  ['a Squid that has no digest yet', /it answered 404/, (_req, res) => res.writeHead(404).end('building')],
  ['all ones', /above 65 %/, (_req, res) => send(res, ones())],
  ['another version', /cannot be read/, (_req, res) => send(res, Buffer.from(digestOf([]).fill(9, 2, 4)))],
  [
    'a mask that is shorter than its header says',
    /cannot be read/,
    (_req, res) => send(res, digestOf([]).subarray(0, 200)),
  ],
  [
    'a digest above the limit',
    /has 2000000 bytes/,
    (_req, res) => res.writeHead(200, { 'Content-Length': 2e6 }).flushHeaders(),
  ],
  ['a digest without a length', /no length/, (_req, res) => res.writeHead(200).end(digestOf([]))],
  [
    'a body that breaks off',
    /no connection/,
    (_req, res) => {
      res.writeHead(200, { 'Content-Length': 300 });
      res.write('abc', () => res.destroy());
    },
  ],
];

test.each(FAULTS)(
  'SquidLink does not ask a Squid with %s, and tries again later',
  async (_title, expected, listener) => {
    let isBad = true;
    const { link, clock, asked, events } = await start((req, res) => {
      if (isBad) listener(req, res);
      else send(res, digestOf(['http://a.example/1']));
    });
    link.start();
    await settled(events, 1);
    expect(events[0]![0]).toBe('squid-not-asked');
    expect(link.masked).toMatch(expected);
    expect(link.has(squidKey('http://a.example/1'))).toBe(false);
    isBad = false;
    await clock.advance(14_000);
    expect(asked).toHaveLength(1);
    await clock.advance(3000);
    await settled(events, 2);
    expect(link.masked).toBe(null);
    // Told once, with the first digest after the failure.
    expect(events.map(([name]) => name)).toEqual(['squid-not-asked', 'squid-digest']);
  },
);

test('SquidLink gives up a digest that does not come', async () => {
  const { link, clock, events } = await start((_req, res) => {
    res.writeHead(200, { 'Content-Length': 300 });
    res.write('abc');
  });
  link.start();
  await clock.advance(61_000);
  await settled(events, 1);
  expect(link.masked).toBe('its digest took too long');
});

function send(res: Parameters<RequestListener>[1], bytes: Buffer): void {
  res.writeHead(200, { 'Content-Length': bytes.length });
  res.end(bytes);
}

function ones(): Buffer {
  const bytes = digestOf([]);
  return bytes.fill(255, 128);
}

test('look shows the four bits of a key in the digest, and none without a digest', async () => {
  const url = 'http://example.org/a';
  const { link } = await start((_, res) => {
    const body = digestOf([url]);
    res.writeHead(200, { 'Content-Length': String(body.length) }).end(body);
  });
  expect(link.look(squidKey(url))).toMatchObject({ answer: 'unknown', positions: [], universe: null });
  link.start();
  await until('a digest', () => link.masked === null);
  const there = link.look(squidKey(url));
  expect([there.answer, there.universe, there.positions.length]).toEqual(['maybe', 800, 4]);
  for (const { position, isSet, window } of there.positions) {
    expect(isSet).toBe(true);
    expect(window.bits[position - window.from]).toBe('1');
  }
  const digest = SquidDigest.decode(digestOf([url]));
  for (let i = 0; i < 200; i++) {
    const other = squidKey(`http://example.org/other/${i}`);
    expect(link.look(other).answer).toBe(digest.has(other) ? 'maybe' : 'no');
  }
});
