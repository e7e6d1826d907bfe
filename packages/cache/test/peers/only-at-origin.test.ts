/** Keys for which no neighbour is asked, because only the origin can have the right response. */

import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Fleet, type FleetNode, planOf, startFleet } from './fleet-lab.ts';

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
