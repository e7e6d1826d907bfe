/**
 * Fleets in groups whose nodes come and go for ten virtual minutes. This is the short form with 32
 * nodes; `npm run bench:churn` has 256 of them, at several rates of churn.
 */

import { expectCount } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type ChurnOptions, type ChurnResult, simulateChurn } from '../../src/simulation/index.ts';

const SIZE = 8;
const GROUPS = 4;
const MINUTE_MS = 60_000;
const FLEET = { nodes: SIZE * GROUPS, groupSize: SIZE, seed: 1, capacity: 100, objects: 5000, rate: 0 };

function simulate(options: Pick<ChurnOptions, 'meanUpMs' | 'down'> & Partial<ChurnOptions>) {
  return simulateChurn({ ...FLEET, ...options });
}

/** Claims after the first one of each group. */
function changes({ claims }: ChurnResult): ChurnResult['claims'] {
  return claims.filter((claim) => claims.find(({ group }) => group === claim.group) !== claim);
}

function expectOneLeaderPerEpoch({ claims, beliefs }: ChurnResult): void {
  for (let group = 0; group < GROUPS; group++) {
    const epochs = claims.filter((claim) => claim.group === group).map(({ epoch }) => epoch);
    expect(epochs.length).toBeGreaterThan(0);
    // Each claim has a later epoch than all before it, so no epoch has two leaders.
    expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => a - b));
    expect(beliefs[group]).toHaveLength(1);
  }
}

test('no request fails while nodes stop, crash and start', async () => {
  const result = await simulate({
    rate: 0.5,
    // Fetches take so long that nodes crash in the middle of many of them.
    times: { originMs: 2000 },
    meanUpMs: () => 4 * MINUTE_MS,
    down: { meanMs: MINUTE_MS },
  });
  const { fleet, ends, starts, lostRequests, unanswered } = result;
  expect(ends.stops).toBeGreaterThan(20);
  expect(ends.crashes).toBeGreaterThan(20);
  expect(starts).toBeGreaterThan(40);
  expect(unanswered).toBe(0);
  // A request is lost only with the node that its client had asked.
  expect(lostRequests).toBeGreaterThan(0);
  expect(lostRequests).toBeLessThan(0.02 * fleet.requests);
  expect(fleet.localHits + fleet.neighbourHits + fleet.originFetches).toBe(fleet.requests - lostRequests);
  expect(fleet.betweenGroups.hits).toBeGreaterThan(100);
  // Questions to two dead owners take 100 and 50 ms before the origin is asked.
  expect(fleet.latencyMs.p99).toBeLessThan(2000 + 100 + 50 + 50);
  expectOneLeaderPerEpoch(result);
});

test('a leader that is away for ten seconds stays the leader', async () => {
  const result = await simulate({ meanUpMs: () => 4 * MINUTE_MS, down: { exactlyMs: 10_000 } });
  expect(result.leaderEnds).toBeGreaterThan(0);
  expect(changes(result)).toEqual([]);
  expectOneLeaderPerEpoch(result);
});

test('a leader that is away for two minutes is replaced once, and leaders end as often as others', async () => {
  let [ended, expected] = [0, 0];
  for (const seed of [1, 2]) {
    const options = { seed, meanUpMs: () => 10 * MINUTE_MS, down: { exactlyMs: 2 * MINUTE_MS } };
    const result = await simulate(options);
    expect(changes(result)).toHaveLength(result.leaderEnds);
    expectOneLeaderPerEpoch(result);
    ended += result.leaderEnds;
    // A group is without a leader for about 50 s of each of these minutes, which shortens the time.
    expected += (GROUPS * result.churnMs - 50_000 * result.leaderEnds) / (10 * MINUTE_MS);
  }
  expectCount(ended, expected, Math.sqrt(expected), 'ends of leaders');
});

test('stable nodes lead after a while, and then stay', async () => {
  const isStable = (leader: string) => Number(leader.slice('node-'.length)) % 4 === 1;
  const result = await simulate({
    meanUpMs: (node) => (node % 4 === 1 ? Number.POSITIVE_INFINITY : 2 * MINUTE_MS),
    down: { exactlyMs: 2 * MINUTE_MS },
  });
  expect(result.leaderEnds).toBeGreaterThan(0);
  // A node of which half of the runs end within 83 s has no chance to be the longest running one.
  for (const [leader] of result.beliefs) expect(isStable(leader!)).toBe(true);
  const last = (group: number) => result.claims.findLast((claim) => claim.group === group)!;
  for (let group = 0; group < GROUPS; group++) expect(isStable(last(group).leader)).toBe(true);
});

test('simulateChurn ends when it is aborted', async () => {
  const signal = AbortSignal.abort(new Error('enough'));
  const options = { meanUpMs: () => MINUTE_MS, down: { meanMs: MINUTE_MS }, signal };
  await expect(simulate(options)).rejects.toThrow('enough');
});
