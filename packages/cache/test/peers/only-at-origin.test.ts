/** Requests that no neighbour may answer, because only the origin can have the right response. */

import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../proxy/proxy-lab.ts';
import { type Fleet, type FleetNode, planOf, startFleet, toOwner } from './fleet-lab.ts';

let origin: OriginLab;
let fleet: Fleet;
let a: FleetNode;
let b: FleetNode;

beforeEach(async () => {
  origin = await startOrigin();
  fleet = await startFleet(2);
  [a, b] = fleet.nodes as [FleetNode, FleetNode];
});

afterEach(async () => {
  expect(fleet.problems).toEqual([]);
  await fleet.close();
  await origin.close();
});

test.each(['a change through this node', 'a purge of this node'])(
  'after %s, a neighbour does not bring the old response back',
  async (cause) => {
    const url = origin.url('/a');
    let version = 1;
    origin.on('/a', ({ method }) => {
      if (method === 'POST') return { status: 204 };
      return { headers: ['Cache-Control', 'max-age=60'], body: `version ${version}` };
    });
    await a.proxy.get(url);
    b.plan = () => planOf([a]);
    expect((await b.proxy.get(url)).text).toBe('version 1');
    expect(origin.count('/a')).toBe(1);
    version = 2;
    if (cause.startsWith('a change')) await b.proxy.ask({ target: url, method: 'POST', body: 'new' });
    else await b.proxy.proxy.forget(url);
    expect((await b.proxy.get(url)).text).toBe('version 2');
    // An eviction later changes nothing: the neighbour still has the old one.
    await b.proxy.store.removeKey(url);
    expect((await b.proxy.get(url)).text).toBe('version 2');
    expect(a.entry.statistics.served).toBe(1);
  },
);

test('a response that the origin lets no cache store is looked for at neighbours once in 10 s', async () => {
  const url = origin.url('/now');
  origin.on('/now', { headers: ['Cache-Control', 'no-store'], body: 'now' });
  let asked = 0;
  b.plan = () => toOwner;
  b.owner = () => {
    asked++;
    return a.neighbour;
  };
  for (let i = 0; i < 5; i++) expect((await b.proxy.get(url)).text).toBe('now');
  expect([asked, a.entry.statistics.refused, origin.count('/now')]).toEqual([1, 1, 5]);
});

test.each([true, false])(
  'a response of a neighbour that may not be stored here is taken from there again (copies: %s)',
  async (copies) => {
    b.copies = copies;
    const url = origin.url('/a');
    // It has no explicit freshness, so it is not stored for a request with a cookie.
    const modified = new Date(Date.now() - 1e9).toUTCString();
    origin.on('/a', { headers: ['Last-Modified', modified], body: 'hello' });
    await a.proxy.get(url);
    b.plan = () => planOf([a]);
    for (let i = 0; i < 3; i++) expect((await b.proxy.get(url, ['Cookie', 'x=1'])).text).toBe('hello');
    expect([a.entry.statistics.served, origin.count('/a')]).toEqual([3, 1]);
  },
);

test('a client that wants a validated response does not share what a neighbour had stored', async () => {
  const url = origin.url('/a');
  origin.on('/a', { headers: ['Cache-Control', 'max-age=60', 'Age', '30', 'ETag', '"1"'], body: 'hello' });
  await a.proxy.get(url);
  let ask = () => {};
  b.plan = () =>
    new Promise((resolve) => {
      ask = () => resolve(planOf([a]));
    });
  const first = b.proxy.get(url);
  const flight = await eventually(() => b.flights.find(url, '', () => true) ?? undefined);
  const second = b.proxy.get(url, ['Cache-Control', 'max-age=0']);
  await eventually(() => flight.waiters === 2);
  b.plan = () => planOf([a]);
  ask();
  expect([(await first).text, (await second).text]).toEqual(['hello', 'hello']);
  expect([a.entry.statistics.served, origin.count('/a')]).toEqual([1, 2]);
});
