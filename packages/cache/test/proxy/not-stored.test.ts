/**
 * The words about storing: `stored` and `detail` in Cache-Status, which is sent before the body,
 * and `notStored` in the record of an answer, which is made after it.
 */

import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import { Admission } from '../../src/store/tiered/admission.ts';
import { TieredStore } from '../../src/store/tiered/tiered-store.ts';
import { eventually, type ProxyLab, type ProxyLabOptions, startProxy } from './proxy-lab.ts';

let origin: OriginLab;
let lab: ProxyLab;

beforeEach(async () => {
  origin = await startOrigin();
  lab = await startProxy();
});

afterEach(async () => {
  await lab.close();
  await origin.close();
});

async function restart(options: ProxyLabOptions): Promise<void> {
  await lab.close();
  lab = await startProxy(options);
}

/** The status that a client gets for a path, and the reason in the record. */
async function told(path: string, headers: string[] = []): Promise<[string, string | undefined]> {
  const reply = await lab.get(origin.url(path), headers);
  const status = reply.header('cache-status')!.replace('bloomery; fwd=', '');
  await eventually(() => lab.records.length > 0);
  const { notStored } = lab.records.splice(0).at(-1)!;
  return [status, notStored];
}

const fresh = ['Cache-Control', 'max-age=60'];

/** A body whose second half is sent on a call. */
function inHalves(length: number) {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const half = 'x'.repeat(length / 2);
  async function* body() {
    yield half;
    await opened;
    yield half;
  }
  return { body: body(), open: () => open() };
}

/** Asks, and sends the second half when the head has come. */
async function toldOfHalves(length: number, headers: readonly string[] = fresh) {
  const { body, open } = inHalves(length);
  origin.on('/long', { headers, body });
  const reply = await lab.ask({ target: origin.url('/long'), onHead: open });
  await eventually(() => lab.records.length > 0);
  const { notStored } = lab.records.splice(0).at(-1)!;
  return [reply.header('cache-status')!.replace('bloomery; fwd=', ''), notStored];
}

test('a short response is stored when its head is sent, and that is said', async () => {
  origin.on('/a', { headers: fresh, body: 'a' });
  expect(await told('/a')).toEqual(['uri-miss; stored', undefined]);
  expect(lab.store.statistics.responses).toBe(1);
});

test('a response whose end has not come is being stored, not stored', async () => {
  expect(await toldOfHalves(1000)).toEqual(['uri-miss; detail=storing', undefined]);
  expect(lab.store.statistics.responses).toBe(1);
});

test('a response that the policy does not store has the reason in both places', async () => {
  origin.on('/private', { headers: ['Cache-Control', 'private'] });
  origin.on('/plain', { body: 'no lifetime, no validator' });
  origin.on('/cookie', { headers: ['ETag', '"1"', 'Set-Cookie', 'a=b'] });
  origin.on('/page', { headers: ['ETag', '"1"'], body: 'page' });
  expect(await told('/private')).toEqual(['uri-miss; detail=private', 'private']);
  expect(await told('/plain')).toEqual(['uri-miss; detail=no-freshness', 'no-freshness']);
  expect(await told('/cookie')).toEqual(['uri-miss; detail=set-cookie', 'set-cookie']);
  expect(await told('/page', ['Cookie', 'a=b'])).toEqual(['uri-miss; detail=cookie', 'cookie']);
  expect(lab.store.statistics.responses).toBe(0);
});

test('a request whose method says it all has no detail', async () => {
  origin.on('/a', { body: 'posted' });
  const reply = await lab.ask({ target: origin.url('/a'), method: 'POST', body: 'x' });
  expect(reply.header('cache-status')).toBe('bloomery; fwd=method');
  expect(lab.records.at(-1)).not.toHaveProperty('notStored');
});

test('a body longer than the limit is too large, announced or not', async () => {
  await restart({ limits: { storedObjectBytes: 1024 } });
  origin.on('/announced', { headers: [...fresh, 'Content-Length', '2000'], body: 'x'.repeat(2000) });
  expect(await told('/announced')).toEqual(['uri-miss; detail=too-large', 'too-large']);
  expect(await toldOfHalves(2000)).toEqual(['uri-miss; detail=storing', 'too-large']);
});

test('a body that the disk does not take at first sight is not admitted', async () => {
  const memory = new MemoryStore({ capacityBytes: 100_000, maxBodyBytes: 1000 });
  const disk = new MemoryStore({ capacityBytes: 1_000_000, maxBodyBytes: 100_000 });
  const admission = new Admission({ capacity: 1000 });
  await restart({ store: await TieredStore.open(memory, disk, { admission, spareBelow: 0 }) });
  expect(await toldOfHalves(4000)).toEqual(['uri-miss; detail=storing', 'not-admitted']);
  expect(await toldOfHalves(4000)).toEqual(['uri-miss; detail=storing', undefined]);
  expect(disk.statistics.responses).toBe(1);
});

test('a response whose key is purged while it arrives is overtaken', async () => {
  const { body, open } = inHalves(1000);
  origin.on('/long', { headers: fresh, body });
  await lab.ask({
    target: origin.url('/long'),
    onHead: () => void lab.proxy.forget(origin.url('/long')).then(open),
  });
  await eventually(() => lab.records.length > 0);
  expect(lab.records[0]).toMatchObject({ notStored: 'overtaken', aborted: false });
});

test('a response that breaks off is incomplete', async () => {
  origin.on('/broken', {
    raw: (socket) =>
      socket.end('HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhalf'),
  });
  await expect(lab.get(origin.url('/broken'))).rejects.toThrow();
  await eventually(() => lab.records.length > 0);
  expect(lab.records[0]).toMatchObject({ notStored: 'incomplete', aborted: true });
});

test('a validated response says what it said before', async () => {
  origin.on('/a', ({ header }) =>
    header('if-none-match') === undefined
      ? { headers: ['Cache-Control', 'no-cache', 'ETag', '"1"'], body: 'a' }
      : { status: 304, headers: ['ETag', '"1"'] },
  );
  expect(await told('/a')).toEqual(['uri-miss; stored', undefined]);
  expect(await told('/a')).toEqual(['stale; fwd-status=304', undefined]);
});
