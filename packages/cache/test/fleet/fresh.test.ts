/**
 * Summaries are fresh: an object that one node stores is served through another from the first,
 * without the origin, and an object that is gone costs at most one question per node. How soon is a
 * row of the benchmark (bench/cooperation).
 */

import { EFFORT } from '@bloomery/testkit/effort';
import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import type { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';
import { expect, test } from 'vitest';
import { countsOf, offer, startFleet, startKnownOrigin, untilGiven } from './start-fleet.ts';

const NODES = EFFORT > 1 ? 16 : 4;

test('an object that one node stores is served through another from the first, without the origin', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: NODES, origin: origin.url });
  for (const holder of fleet.nodes)
    for (const step of [1, NODES - 1])
      await servedThrough(fleet.nodes[(holder.index + step) % NODES]!, holder, origin);
  for (const node of fleet.nodes) expect((await countsOf(node)).falseHits, node.name).toBe(0);
});

async function servedThrough(node: FleetNode, holder: FleetNode, origin: ThrottledOrigin): Promise<void> {
  await untilGiven(`an object of ${holder.name} through ${node.name}`, async (tried) => {
    const path = knownPath(`${holder.name}/${node.name}/${tried}`.replaceAll('-', '.'), 30_000);
    await offer(holder, path);
    await node.untilHeard(holder);
    const { failures } = await countsOf(node);
    const answer = await checkedGet(node.port, path);
    expect(answer).toMatchObject({ status: 200, isWhole: true, wrong: null });
    if (origin.fetches(path) > 1) {
      expect((await countsOf(node)).failures, 'the origin is asked only after a failure').toBe(failures + 1);
      return false;
    }
    // RFC 9211, section 2: the first member is that of the cache nearest to the origin.
    const members = String(answer.headers['cache-status']).split(/,\s*/);
    expect(members[0], String(members)).toMatch(new RegExp(`^${holder.name}; hit`));
    expect(members.at(-1), String(members)).toMatch(new RegExp(`^${node.name}; fwd=`));
    return true;
  });
}

test('a purged object costs each node at most one false hit, and every answer is right', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: NODES, origin: origin.url });
  const [holder, ...others] = fleet.nodes as [FleetNode, ...FleetNode[]];
  const path = knownPath('purged', 20_000);
  await offer(holder, path);
  for (const other of others) await other.untilHeard(holder, 1);
  expect(await holder.purge(path)).toBe(1);
  // At once, before the others hear of it.
  const answers = await Promise.all(others.map((other) => checkedGet(other.port, path)));
  for (const answer of answers) expect(answer).toMatchObject({ status: 200, isWhole: true, wrong: null });
  for (const other of others) {
    expect(await checkedGet(other.port, path)).toMatchObject({ status: 200, wrong: null });
    expect((await countsOf(other)).falseHits, other.name).toBeLessThanOrEqual(1);
  }
  for (const other of others) await other.untilHeard(holder, 0);
});

test('objects that memory evicts leave the summary', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({
    nodes: 2,
    origin: origin.url,
    settings: (index) => (index === 0 ? { memory: '2MB' } : {}),
  });
  const [small, other] = fleet.nodes as [FleetNode, FleetNode];
  const paths = Array.from({ length: 60 }, (_, i) => knownPath(`evicted/${i}`, 100_000));
  for (const path of paths) await checkedGet(small.port, path);
  await other.untilHeard(small);
  // 2 MB hold fewer than 20 objects of 100 kB.
  const { objects } = (await small.status()).cooperation!.own;
  expect(objects).toBeGreaterThan(0);
  expect(objects).toBeLessThan(20);
  const fetched = origin.requests.length;
  for (const path of paths)
    expect(await checkedGet(other.port, path)).toMatchObject({ status: 200, wrong: null });
  const { trueHits, falseHits } = await countsOf(other);
  expect(falseHits).toBe(0);
  expect(trueHits).toBeGreaterThan(0);
  expect(origin.requests.length - fetched).toBe(60 - trueHits);
});
