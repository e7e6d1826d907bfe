/**
 * A herd: all nodes are asked for the same cold, large object at once. The origin is asked once; if
 * the node that fetches is killed in the middle, at most once more, where a request for the rest
 * counts. No client gets a broken body that looks whole. How long it takes is a row of the
 * benchmark (bench/cooperation).
 *
 * A budget of 20 s makes this independent of the load of the machine. With the default of 250 ms a
 * node that hears nothing of the owner in time goes to the origin, as it should; so the test of the
 * defaults has a few attempts.
 */

import { EFFORT } from '@bloomery/testkit/effort';
import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { expect, test } from 'vitest';
import { until } from '../node/scratch.ts';
import { startFleet, startKnownOrigin, untilGiven } from './start-fleet.ts';

const NODES = EFFORT > 1 ? 16 : 6;
const BYTES = EFFORT > 1 ? 50_000_000 : 6_000_000;
/** 100 Mb/s: half a second for the small form. */
const BYTES_PER_SECOND = 12_500_000;

test('a cold object asked of all nodes at once is fetched once from the origin', async () => {
  const origin = await startKnownOrigin({ bytesPerSecond: BYTES_PER_SECOND });
  const fleet = await startFleet({
    nodes: NODES,
    origin: origin.url,
    settings: () => ({ memory: '256MB', peerBudget: '20s' }),
  });
  const path = knownPath('layer', BYTES);
  const answers = await Promise.all(fleet.nodes.map((node) => checkedGet(node.port, path)));
  for (const answer of answers) expect(answer).toMatchObject({ status: 200, isWhole: true, wrong: null });
  expect(origin.fetches(path)).toBe(1);
});

test('with the default settings, a herd of four nodes fetches a cold object once', async () => {
  const origin = await startKnownOrigin({ bytesPerSecond: BYTES_PER_SECOND });
  const fleet = await startFleet({ nodes: 4, origin: origin.url });
  await untilGiven('one fetch of a herd', async (tried) => {
    const path = knownPath(`default/${tried}`, 2_000_000);
    const answers = await Promise.all(fleet.nodes.map((node) => checkedGet(node.port, path)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, isWhole: true, wrong: null });
    return origin.fetches(path) === 1;
  });
});

test('the fetching node is killed in the middle: at most two fetches, and no body that looks whole is broken', async () => {
  const origin = await startKnownOrigin({ bytesPerSecond: BYTES_PER_SECOND });
  const fleet = await startFleet({
    nodes: NODES,
    origin: origin.url,
    settings: () => ({ memory: '256MB', peerBudget: '20s' }),
  });
  const path = knownPath('layer', BYTES);
  const asked = fleet.nodes.map((node) => checkedGet(node.port, path));
  await until('a third of the body', () => (origin.requests[0]?.bytes ?? 0) > BYTES / 3);
  const fetching = fleet.nodes.find(({ name }) => String(origin.requests[0]!.headers.via).includes(name));
  await fetching!.kill();
  const answers = await Promise.all(asked);
  expect(answers.map(({ wrong }) => wrong).filter((wrong) => wrong !== null)).toEqual([]);
  const survivors = answers.filter((_, i) => fleet.nodes[i] !== fetching);
  expect(survivors.filter(({ isWhole }) => isWhole)).toHaveLength(survivors.length);
  expect(origin.fetches(path)).toBeLessThanOrEqual(2);
  for (const node of fleet.nodes) if (node !== fetching) expect(node.said, node.name).toEqual([]);
});
