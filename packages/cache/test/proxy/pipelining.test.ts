/**
 * Requests that a client sends before the answers to earlier ones have come (RFC 9112, 9.3.2):
 * their order, their end, their number.
 */

import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, describe, expect, it } from 'vitest';
import { Exchange } from '../../src/proxy/client/exchange.ts';
import { CONNECTIONS_PER_ORIGIN } from '../../src/proxy/origin/origin-pool.ts';
import type { AnswerRecord } from '../../src/proxy/proxy-observer.ts';
import { eventually, type ProxyLab, type ProxyLabOptions, rawConnection, startProxy } from './proxy-lab.ts';

const endings: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function start(options: ProxyLabOptions = {}): Promise<{ origin: OriginLab; lab: ProxyLab }> {
  const origin = await startOrigin();
  endings.push(() => origin.close());
  const lab = await startProxy(options);
  endings.push(() => lab.close());
  return { origin, lab };
}

const get = (url: string) => `GET ${url} HTTP/1.1\r\nHost: x\r\n\r\n`;
/**
 * A request for itself alone: a response that could be stored is waited for until its head comes,
 * even if all clients have left.
 */
const getAlone = (url: string) => `GET ${url} HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n\r\n`;
const noStore = ['Cache-Control', 'no-store'];
const megabyte = Buffer.alloc(1_000_000, 'b');

describe('pipelined requests', () => {
  it('are answered in their order, 64 at once', async () => {
    const { origin, lab } = await start();
    // The later, the sooner.
    origin.on('/n', ({ url }) => {
      const n = Number(url.split('?')[1]);
      return { headers: noStore, body: `<${n}>`, delayMs: (64 - n) * 3 };
    });
    const raw = await rawConnection(lab.port);
    raw.socket.write(Array.from({ length: 64 }, (_, n) => get(origin.url(`/n?${n}`))).join(''));
    await raw.until(/<63>/);
    const bodies = [...raw.received().matchAll(/<(\d+)>/g)].map((match) => Number(match[1]));
    expect(bodies).toEqual(Array.from({ length: 64 }, (_, n) => n));
    await eventually(() => lab.proxy.activity.fetches === 0);
    raw.socket.destroy();
  });

  it('leave no fetch and no origin connection behind when their client goes', async () => {
    const { origin, lab } = await start();
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    endings.push(() => process.off('warning', warn));
    origin.on('/never', { raw: () => {} });
    origin.on('/big', { headers: noStore, body: megabyte });
    const raw = await rawConnection(lab.port);
    raw.socket.write(
      getAlone(origin.url('/never')) +
        Array.from({ length: 30 }, (_, n) => get(origin.url(`/big?${n}`))).join(''),
    );
    // All of them are held back behind the first one, and the fetches are paused.
    await eventually(() => origin.count('/big') === 30);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(lab.proxy.activity.fetches).toBe(31);
    raw.socket.destroy();
    await eventually(() => lab.proxy.activity.fetches === 0, 20_000);
    await eventually(() => origin.open === 0, 20_000);
    expect(lab.records).toHaveLength(31);
    expect(lab.records.every(({ aborted }) => aborted)).toBe(true);
    expect(warnings).toEqual([]);
  });

  it('whose fetches wait for a connection do not wait when their client goes; those that were sent go on for seconds', async () => {
    const { origin, lab } = await start();
    origin.on('/never', { raw: () => {} });
    const clients = await Promise.all(Array.from({ length: 5 }, () => rawConnection(lab.port)));
    for (const [c, { socket }] of clients.entries()) {
      socket.write(Array.from({ length: 60 }, (_, n) => get(origin.url(`/never?${c}-${n}`))).join(''));
    }
    await eventually(() => lab.proxy.activity.fetches === 300);
    await eventually(() => origin.count('/never') === CONNECTIONS_PER_ORIGIN);
    for (const { socket } of clients) socket.destroy();
    await eventually(() => lab.proxy.activity.fetches === CONNECTIONS_PER_ORIGIN, 20_000);
    // Of these nothing has come some seconds later.
    await eventually(() => lab.proxy.activity.fetches === 0, 80_000);
  });

  it('which are cut while they wait let go of their fetch at once, and do not harm the answer before them', async () => {
    const { origin, lab } = await start({ limits: { clientStallMs: 150 } });
    let open: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    origin.on('/first', async () => {
      await gate;
      return { headers: noStore, body: 'the first, whole' };
    });
    origin.on('/big', { headers: noStore, body: megabyte });
    origin.on('/third', { headers: noStore, body: 'the third' });
    const raw = await rawConnection(lab.port);
    raw.socket.write(get(origin.url('/first')) + get(origin.url('/big')) + get(origin.url('/third')));
    // No client takes the second one's bytes for 150 ms.
    await eventually(() => lab.records.some(({ url }) => url.includes('/big')), 20_000);
    expect(lab.records.find(({ url }) => url.includes('/big'))).toMatchObject({ aborted: true });
    await eventually(() => lab.proxy.activity.fetches === 1, 20_000);
    expect(raw.socket.readableEnded).toBe(false);
    open();
    const text = await raw.ended();
    expect(text).toMatch(/the first, whole/);
    // What comes after an answer that is not whole cannot be told from it.
    expect(text).not.toMatch(/the third/);
    await eventually(() => lab.proxy.activity.fetches === 0, 20_000);
    expect(lab.records).toHaveLength(3);
  });

  it('start no more fetches than 64, however many are sent, and none is left', async () => {
    const { lab } = await start();
    const silent = createServer((socket) => socket.on('error', () => {}));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    endings.push(() => silent.close());
    const { port } = silent.address() as AddressInfo;
    const raw = await rawConnection(lab.port);
    let most = 0;
    for (let round = 0; round < 20; round++) {
      raw.socket.write(
        Array.from({ length: 100 }, (_, n) => getAlone(`http://127.0.0.1:${port}/${round}-${n}`)).join(''),
      );
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, lab.proxy.activity.fetches);
    }
    await raw.ended();
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(64);
    await eventually(() => lab.proxy.activity.fetches === 0, 20_000);
    expect(lab.records).toHaveLength(64);
    raw.socket.destroy();
  });

  it('that are followed after the connection has gone are over at once', async () => {
    const pairs: [IncomingMessage, ServerResponse][] = [];
    const server = createHttpServer((req, res) => void pairs.push([req, res]));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    endings.push(() => server.close());
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(get('/1') + get('/2'));
    await eventually(() => pairs.length === 2);
    const [req, res] = pairs[1]!;
    expect(res.socket).toBe(null);
    socket.destroy();
    await once(req.socket, 'close');
    const records: AnswerRecord[] = [];
    const request = { method: 'GET', key: '/2' } as Exchange['request'];
    const exchange = new Exchange({
      req,
      res,
      client: '127.0.0.1',
      request,
      route: {} as Exchange['route'],
      at: 0,
      name: 'test',
      observer: { answered: (record) => records.push(record), event: () => {} },
    });
    exchange.follow();
    let left = 0;
    exchange.onLeave(() => left++);
    await eventually(() => left === 1, 10_000);
    expect(exchange.over).toBe(true);
    expect(records).toMatchObject([{ url: '/2', aborted: true }]);
  });
});
