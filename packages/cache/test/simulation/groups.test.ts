/** The policies between groups, compared with counts that need no simulation. */

import { rendezvousOrder } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { describe, expect, test } from 'vitest';
import {
  BETWEEN_CHOICES,
  type BetweenChoice,
  type FleetOptions,
  type FleetResult,
  keyOfObject,
  messageBytesOf,
  simulateFleet,
} from '../../src/simulation/index.ts';
import { KEYRING } from '../../src/simulation/policies/cooperating-nodes.ts';
import { smallZipf } from './small-zipf.ts';

const SIZE = 3;
/** One request of the fleet every second, so that every summary has been told before the next. */
const ZIPF = { seed: 3, objects: 400, requests: 900, nodes: 9, rate: 1 / 9 };
/** All objects fit into each node. */
const FLEET = { nodes: 9, capacity: { objects: 1000 }, seed: 1 };

function simulate(between: BetweenChoice, options: Partial<FleetOptions> = {}): Promise<FleetResult> {
  const policy = { kind: 'groups', size: SIZE, between, copies: 0 } as const;
  return simulateFleet({ ...FLEET, policy, trace: smallZipf(ZIPF), ...options });
}

const groupOf = (node: number) => Math.floor(node / SIZE);

/** The number of the group that owns an object, without a directory. */
function ownerGroup(object: number): number {
  const key = hashKey(keyOfObject(object), { key: KEYRING.first.summary });
  const names = Array.from({ length: FLEET.nodes / SIZE }, (_, group) => `group-${group}`);
  return names.indexOf(rendezvousOrder(key, names)[0]!);
}

describe('groups of nodes that hold everything', () => {
  const requests = [...smallZipf(ZIPF)];
  const distinct = new Set(requests.map(({ object }) => object)).size;

  test('fetch each object once per group if nothing is between them', async () => {
    const { originFetches, betweenGroups } = await simulate('nothing');
    expect(originFetches).toBe(new Set(requests.map((each) => `${groupOf(each.node)} ${each.object}`)).size);
    expect(betweenGroups).toEqual({
      hits: 0,
      messages: 0,
      messageBytes: 0,
      objectBytes: 0,
      busiestLeader: 0,
    });
  });

  test.each(['leader-union', 'group-owner'] as const)('fetch each object once with %s', async (between) => {
    const result = await simulate(between);
    expect(result.originFetches).toBe(distinct);
    expect(result.lostHits).toBe(0);
    expect(result.betweenGroups.hits).toBeGreaterThan(100);
  });

  test('group-owner crosses once for each request outside of the group that owns the object', async () => {
    const { betweenGroups, summaryMemory } = await simulate('group-owner');
    // With no room for copies, a node outside keeps nothing.
    const crossings = requests.filter(({ node, object }) => groupOf(node) !== ownerGroup(object));
    expect(betweenGroups.objectBytes).toBe(1000 * crossings.length);
    expect(betweenGroups.messages).toBe(0);
    const first = new Map<number, number>();
    for (const { node, object } of requests) if (!first.has(object)) first.set(object, node);
    const filling = [...first].filter(([object, node]) => groupOf(node) !== ownerGroup(object));
    expect(betweenGroups.hits).toBe(crossings.length - filling.length);
    expect(summaryMemory!.leaderBytes).toBe(0);
  });

  test('leader-union asks the leader at each miss of the group, and crosses for hits alone', async () => {
    const { betweenGroups, summaryMemory, messages } = await simulate('leader-union');
    expect(betweenGroups.objectBytes).toBe(1000 * betweenGroups.hits);
    // The group that fetched an object first holds it, and each request of another group crosses.
    const home = new Map<number, number>();
    let crossings = 0;
    for (const { node, object } of requests) {
      const holder = home.get(object) ?? groupOf(node);
      home.set(object, holder);
      if (holder !== groupOf(node)) crossings++;
    }
    expect(betweenGroups.hits).toBe(crossings);
    expect(betweenGroups.busiestLeader).toBeGreaterThan(0);
    expect(summaryMemory!.leaderBytes).toBeGreaterThan(0);
    // A true miss and a hit of another group both have a question and an answer.
    expect(messages.query).toBe(messages.reply);
  });
});

test('bytes between groups are a part of all bytes', async () => {
  for (const between of BETWEEN_CHOICES) {
    const { betweenGroups, objectBytes, ...result } = await simulate(between, {
      capacity: { objects: 40 },
      trace: smallZipf({ ...ZIPF, rate: 10 }),
    });
    expect(betweenGroups.objectBytes).toBeLessThanOrEqual(objectBytes);
    expect(betweenGroups.messageBytes).toBeLessThanOrEqual(
      messageBytesOf({ betweenGroups, objectBytes, ...result }),
    );
    expect(betweenGroups.hits).toBeLessThanOrEqual(result.neighbourHits);
  }
});

test('a group of one node is refused', async () => {
  const policy = { kind: 'groups', size: 1, between: 'nothing' } as const;
  await expect(simulateFleet({ ...FLEET, policy, trace: [] })).rejects.toThrow(
    'Cannot simulate a fleet: expected size of a group to be a whole number from 2 on, got 1',
  );
});
