import { expect, test } from 'vitest';
import type { FleetPeer, FleetStatus } from './fleet-node.ts';
import { countsSince, measuredCounts } from './measured-counts.ts';

const peer = (counts: Partial<FleetPeer>): FleetPeer => ({
  source: 'settings',
  address: 'http://127.0.0.1:1',
  id: 'other',
  state: 'up',
  masked: null,
  objects: 0,
  generation: null,
  keys: [],
  trueHits: 0,
  falseHits: 0,
  trueMisses: 0,
  falseMisses: 0,
  failures: 0,
  summaryBytes: 0,
  objectBytes: 0,
  ...counts,
});

/** A node that has answered so many requests of each kind. */
function nodeWith(requests: Record<string, number>, cooperation: FleetStatus['cooperation'] = null) {
  const total = Object.values(requests).reduce((sum, count) => sum + count, 0);
  const tier = { bytes: 700, capacityBytes: 1000, evictions: 4, refused: 0, copies: 0, copyBytes: 0 };
  const status: FleetStatus = {
    originFetches: requests.miss ?? 0,
    requests: { total, ...requests },
    bytes: { sent: 10 * total, fromOrigins: 10 * (requests.miss ?? 0) },
    stores: { memory: { responses: 2, ...tier }, disk: { responses: 3, ...tier } },
    eventLoopDelayMs: { p50: 0, p99: 0, max: 0 },
    cooperation,
  };
  return { status: async () => status };
}

test('measuredCounts adds up nodes, tiers and neighbours, and shows outcomes that it does not know', async () => {
  const own = {
    objects: 5,
    generation: '1.0',
    keys: [],
    updates: 3,
    bytesPublished: 90,
    ownerQuestions: 6,
    objectsServed: 2,
    bytesServed: 2000,
  };
  const peers = [
    peer({ trueHits: 2, summaryBytes: 30 }),
    peer({ falseHits: 1, failures: 7, summaryBytes: 5 }),
  ];
  const nodes = [nodeWith({ hit: 4, miss: 2, neighbour: 3 }, { own, peers }), nodeWith({ hit: 1, error: 1 })];
  expect(await measuredCounts(nodes)).toEqual({
    localHits: 5,
    collapsed: 0,
    neighbourHits: 3,
    misses: 2,
    otherOutcomes: 1,
    originFetches: 2,
    originBytes: 20,
    objectsServed: 2,
    objectBytes: 2000,
    updates: 3,
    updateBytes: 90,
    summaryBytes: 35,
    ownerQuestions: 6,
    trueHits: 2,
    falseHits: 1,
    falseMisses: 0,
    failures: 7,
    evictions: 16,
    stored: 10,
    storedCost: 2800,
  });
});

test('countsSince is the difference of all counts', async () => {
  const before = await measuredCounts([nodeWith({ hit: 4, miss: 1 })]);
  const after = await measuredCounts([nodeWith({ hit: 9, miss: 3 })]);
  expect(countsSince(before, after)).toMatchObject({ localHits: 5, misses: 2, originBytes: 20, stored: 0 });
});
