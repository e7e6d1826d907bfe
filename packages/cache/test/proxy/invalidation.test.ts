/**
 * An invalidation reaches every fetch of its key, also those that cannot be joined: what was said
 * before a change is not stored after it.
 */

import { type LabAnswer, type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Flights } from '../../src/proxy/flight/flights.ts';
import type { ProxyFlights } from '../../src/proxy/flight/shared-response.ts';
import { eventually, type ProxyLab, startProxy } from './proxy-lab.ts';

let origin: OriginLab;
let lab: ProxyLab;
let flights: ProxyFlights;

beforeEach(async () => {
  origin = await startOrigin();
  flights = new Flights(Date.now);
  lab = await startProxy({ flights });
});

afterEach(async () => {
  await lab.close();
  await origin.close();
});

const FRESH = ['Cache-Control', 'max-age=60', 'ETag', '"1"'];
const post = (path: string, headers: readonly string[] = [], onHead = () => {}) =>
  lab.ask({ method: 'POST', target: origin.url(path), headers: ['Content-Length', '0', ...headers], onHead });

/** An answer to GET whose body begins, and goes on when it is told to. */
function held(answer: LabAnswer, text = 'old') {
  let release = () => {};
  const wait = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slowly = async function* () {
    yield text.slice(0, 1);
    await wait;
    yield text.slice(1);
  };
  return { release: () => release(), answer: () => ({ ...answer, body: slowly() }) };
}

/** Fetches that others must not wait for, although what they bring may be stored. */
const alone: readonly (readonly [string, readonly string[], LabAnswer])[] = [
  [
    'a range',
    ['Range', 'bytes=0-2'],
    { status: 206, headers: [...FRESH, 'Content-Length', '3', 'Content-Range', 'bytes 0-2/9'] },
  ],
  ['a condition of the client', ['If-None-Match', '"0"'], { headers: FRESH }],
  ['no-cache, with nothing stored', ['Cache-Control', 'no-cache'], { headers: FRESH }],
];

const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['an unsafe request', () => post('/a')],
  ['a purge', () => lab.proxy.forget(origin.url('/a'))],
];

describe.each(changes)('%s', (_, change) => {
  it.each(alone)('keeps what was on its way from being stored: %s', async (_name, headers, answer) => {
    const slow = held(answer);
    origin.on('/a', ({ method }) => (method === 'GET' ? slow.answer() : { body: 'changed' }));
    const reply = lab.get(origin.url('/a'), headers);
    await eventually(() => origin.count('/a') === 1 && flights.all === 1);
    await change();
    slow.release();
    expect((await reply).text).toBe('old');
    await eventually(() => lab.proxy.activity.fetches === 0);
    expect(await lab.store.find(origin.url('/a'))).toEqual([]);
    expect(flights.all).toBe(0);
  });

  it('reaches the fetches of a key that was barren', async () => {
    const slow = held({ headers: FRESH });
    origin.on('/a', ({ method }, count) =>
      method !== 'GET'
        ? { body: 'changed' }
        : count === 1
          ? { headers: ['Cache-Control', 'private'] }
          : slow.answer(),
    );
    await lab.get(origin.url('/a'));
    const replies = [lab.get(origin.url('/a')), lab.get(origin.url('/a'))];
    await eventually(() => origin.count('/a') === 3 && flights.all === 2);
    await change();
    slow.release();
    for (const reply of replies) expect((await reply).text).toBe('old');
    await eventually(() => lab.proxy.activity.fetches === 0);
    expect(await lab.store.find(origin.url('/a'))).toEqual([]);
    expect(flights.all).toBe(0);
  });

  it('reaches a revalidation in the background', async () => {
    const slow = held({ headers: ['Cache-Control', 'max-age=60', 'ETag', '"2"'] });
    const swr = ['Cache-Control', 'max-age=60, stale-while-revalidate=600', 'ETag', '"1"'];
    origin.on('/a', ({ method }, count) =>
      method !== 'GET' ? { body: 'changed' } : count === 1 ? { headers: swr, body: 'first' } : slow.answer(),
    );
    await lab.get(origin.url('/a'));
    lab.advance(61_000);
    origin.advance(61_000);
    expect((await lab.get(origin.url('/a'))).text).toBe('first');
    await eventually(() => origin.count('/a') === 2);
    await change();
    slow.release();
    await eventually(() => lab.proxy.activity.fetches === 0);
    expect(await lab.store.find(origin.url('/a'))).toEqual([]);
    expect(flights.all).toBe(0);
  });
});

describe('a POST whose answer is stored for GET (RFC 9110, 9.3.3)', () => {
  const answer = { headers: ['Cache-Control', 'max-age=60', 'Content-Location', '/a'] };

  it('is not kept out by its own invalidation', async () => {
    origin.on('/a', { ...answer, body: 'posted' });
    await post('/a');
    expect((await lab.get(origin.url('/a'))).text).toBe('posted');
    expect(origin.count('/a')).toBe(1);
    expect(flights.all).toBe(0);
  });

  it('is kept out by another that ends before it', async () => {
    const slow = held(answer);
    origin.on('/a', (_, count) => (count === 1 ? slow.answer() : { status: 204 }));
    let begun = false;
    const first = post('/a', [], () => (begun = true));
    // Its head has come, and has invalidated; it can still be reached.
    await eventually(() => begun && flights.all === 1 && lab.proxy.activity.fetches === 1);
    await post('/a');
    slow.release();
    expect((await first).text).toBe('old');
    expect(await lab.store.find(origin.url('/a'))).toEqual([]);
    expect(flights.all).toBe(0);
  });
});

describe('the table of fetches', () => {
  it('forgets one whose client leaves before the head', async () => {
    origin.on('/a', { delayMs: 3000 });
    const leaving = new AbortController();
    const reply = lab.get(origin.url('/a'), ['Range', 'bytes=0-2'], { signal: leaving.signal });
    await eventually(() => flights.all === 1);
    leaving.abort();
    await expect(reply).rejects.toThrow();
    await eventually(() => flights.all === 0);
  });

  it('forgets one that fails, and one that is streamed', async () => {
    origin.on('/broken', { raw: (socket) => socket.destroy() });
    origin.on('/private', { headers: ['Cache-Control', 'no-store'], body: 'x' });
    await lab.get(origin.url('/broken'), ['Range', 'bytes=0-2']);
    await lab.get(origin.url('/private'), ['Cache-Control', 'no-cache']);
    await lab.ask({ method: 'HEAD', target: origin.url('/private') });
    expect(flights.all).toBe(0);
  });
});
