import { rendezvousOrder } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { describe, expect, test } from 'vitest';
import {
  type FleetOptions,
  type FleetResult,
  keyOfObject,
  type PolicyChoice,
  simulateFleet,
  type TraceRequest,
  thresholdAlone,
} from '../../src/simulation/index.ts';
import { ObjectCache } from '../../src/simulation/object-cache.ts';
import { smallZipf } from './small-zipf.ts';

const POLICIES: readonly PolicyChoice[] = [
  { kind: 'alone' },
  { kind: 'icp' },
  { kind: 'url-lists' },
  { kind: 'summary-cache' },
  { kind: 'squid-digests', rebuildMs: 5000 },
  { kind: 'consistent-hashing' },
  { kind: 'consistent-hashing', hotShare: 1 / 8 },
  { kind: 'summaries' },
  { kind: 'summaries', owner: false, copies: 0 },
  { kind: 'summaries', copies: 1 },
  { kind: 'groups', size: 3, between: 'nothing' },
  { kind: 'groups', size: 3, between: 'leader-union' },
  { kind: 'groups', size: 4, between: 'group-owner' },
];

const ZIPF = { seed: 1, objects: 1500, requests: 4000, nodes: 6, rate: 50 };
const FLEET = { nodes: 6, capacity: { objects: 100 }, seed: 1 };

function simulate(policy: PolicyChoice, options: Partial<FleetOptions> = {}): Promise<FleetResult> {
  return simulateFleet({ ...FLEET, policy, trace: smallZipf(ZIPF), ...options });
}

function nameOf(policy: PolicyChoice): string {
  return JSON.stringify(policy);
}

/** Times without delays, for models in which one thing happens after the other. */
const AT_ONCE = { localMs: 0, neighbourMs: 0, originMs: 0 };

describe.each(POLICIES.map((policy) => [nameOf(policy), policy] as const))(
  'simulateFleet %s',
  (_, policy) => {
    test('answers each request from exactly one source', async () => {
      const result = await simulate(policy, { warmUpRequests: 1000 });
      expect(result.requests).toBe(ZIPF.requests - 1000);
      expect(result.localHits + result.neighbourHits + result.originFetches).toBe(result.requests);
      const { local, neighbour, origin } = result.bytesBySource;
      expect(local + neighbour + origin).toBe(1000 * result.requests);
      expect(result.heldObjects).toBeLessThanOrEqual(6 * 100);
      expect(result.distinctObjects).toBeLessThanOrEqual(result.heldObjects);
    });

    test('gives the same figures for the same seed', async () => {
      const [one, same, other] = [
        await simulate(policy),
        await simulate(policy),
        await simulate(policy, { trace: smallZipf({ ...ZIPF, seed: 2 }) }),
      ];
      expect(same).toEqual(one);
      expect(other).not.toEqual(one);
    });

    test('goes on when all nodes are replaced by empty ones', async () => {
      const result = await simulate(policy, {
        trace: smallZipf({ ...ZIPF, requests: 6000 }),
        seriesEvery: 500,
        replacements: [{ beforeRequest: 3000, share: 1 }],
      });
      expect(result.requests).toBe(6000);
      expect(result.localHits + result.neighbourHits + result.originFetches).toBe(6000);
      const [before, after] = [result.series[5]!.originShare, result.series[6]!.originShare];
      expect(after).toBeGreaterThan(before);
    });
  },
);

/** Plays a trace to a naive model, which gives the source of each answer. */
function playNaively(answer: (request: TraceRequest) => 'local' | 'neighbour' | 'origin') {
  const counts = { local: 0, neighbour: 0, origin: 0 };
  for (const request of smallZipf(ZIPF)) counts[answer(request)]++;
  return counts;
}

function newCaches(): ObjectCache[] {
  return Array.from(
    { length: 6 },
    () => new ObjectCache({ capacity: 100, expectedEntries: 100, copiesShare: 0 }),
  );
}

function sources({ localHits, neighbourHits, originFetches }: FleetResult) {
  return { local: localHits, neighbour: neighbourHits, origin: originFetches };
}

describe('simulateFleet agrees with a naive model', () => {
  test('of nodes that are alone', async () => {
    const caches = newCaches();
    const counts = playNaively(({ node, object }) => {
      if (caches[node]!.use(object)) return 'local';
      caches[node]!.put(object, 1, false);
      return 'origin';
    });
    expect(sources(await simulate({ kind: 'alone' }, { times: AT_ONCE }))).toEqual(counts);
  });

  test('of consistent hashing', async () => {
    const caches = newCaches();
    const ids = caches.map((_, node) => `node-${node}`);
    const counts = playNaively(({ node, object }) => {
      const owner = ids.indexOf(rendezvousOrder(hashKey(keyOfObject(object)), ids)[0]!);
      if (caches[owner]!.use(object)) return owner === node ? 'local' : 'neighbour';
      caches[owner]!.put(object, 1, false);
      return 'origin';
    });
    const result = await simulate({ kind: 'consistent-hashing' }, { times: AT_ONCE });
    expect(sources(result)).toEqual(counts);
  });

  test('of single copies whose holder every node knows at once', async () => {
    const caches = newCaches();
    const counts = playNaively(({ node, object }) => {
      if (caches[node]!.use(object)) return 'local';
      const holder = caches.findIndex((cache) => cache.has(object));
      if (holder >= 0) {
        caches[holder]!.use(object);
        return 'neighbour';
      }
      caches[node]!.put(object, 1, false);
      return 'origin';
    });
    // Requests come 50 ms apart, and each change is told 10 ms after it.
    const result = await simulate(
      { kind: 'summaries', owner: false, copies: 0 },
      {
        trace: smallZipf({ ...ZIPF, rate: 20 / 6 }),
        times: { ...AT_ONCE, neighbourMs: 0.01 },
        updates: thresholdAlone(0),
        falseCandidates: 1e-6,
      },
    );
    expect(sources(result)).toEqual(counts);
    expect([result.falseHits, result.lostHits]).toEqual([0, 0]);
    expect(result.distinctObjects).toBe(result.heldObjects);
  });

  test('of queries to all neighbours, by the number of messages', async () => {
    const result = await simulate({ kind: 'icp' }, { times: AT_ONCE });
    const misses = result.neighbourHits + result.originFetches;
    expect(result.messages.query).toBe(5 * misses + result.falseHits);
    expect(result.messages.reply).toBe(result.messages.query);
    expect([result.falseHits, result.lostHits]).toEqual([0, 0]);
  });
});

test('simulateFleet: one receiver for all nodes gives the figures of one receiver per node', async () => {
  for (const policy of [
    { kind: 'summaries' } as const,
    { kind: 'summaries', owner: false, copies: 0 } as const,
  ]) {
    const shared = await simulate(policy, { warmUpRequests: 100 });
    const own = await simulate({ ...policy, sharesReceivers: false }, { warmUpRequests: 100 });
    // Neighbours that are equally far may be asked in another order, so latencies and skew differ.
    // The memory for summaries is counted only where all nodes share one.
    const others = { latencyMs: null, skew: null, summaryMemory: null };
    expect({ ...shared, ...others }).toEqual({ ...own, ...others });
    expect(Math.abs(shared.skew / own.skew - 1)).toBeLessThan(0.02);
    expect(shared.neighbourHits).toBeGreaterThan(1000);
  }
});

test('simulateFleet tells the cost of an object by its source', async () => {
  for (const policy of [{ kind: 'alone' }, { kind: 'icp' }, { kind: 'summaries' }] as const) {
    const calls = { neighbour: 0, origin: 0 };
    const { neighbourHits, originFetches } = await simulate(policy, {
      capacity: {
        bytes: 100_000,
        costOf: (_object, bytes, from) => {
          calls[from]++;
          return bytes;
        },
      },
    });
    expect(calls).toEqual({ neighbour: neighbourHits, origin: originFetches });
  }
});

test('simulateFleet: the form of updates changes their bytes and nothing else', async () => {
  const bytes: number[] = [];
  const others: unknown[] = [];
  for (const form of ['set', 'delta', 'compressed', 'plain'] as const) {
    const policy = { kind: 'summaries', owner: false, copies: 0, form } as const;
    const { messageBytes, ...other } = await simulate(policy, { updates: thresholdAlone(0.2) });
    bytes.push(messageBytes.update);
    others.push(other);
  }
  for (const other of others) expect(other).toEqual(others[0]);
  // The order of docs/notes/summary-bytes.md.
  expect(bytes).toEqual([...bytes].sort((a, b) => a - b));
  expect(bytes[3]! / bytes[0]!).toBeGreaterThan(1.5);
});

test('simulateFleet loses more hits when updates wait for more changes', async () => {
  const lost: number[] = [];
  for (const share of [0.001, 0.01, 0.1, 0.5]) {
    const policy = { kind: 'summaries', owner: false, copies: 0 } as const;
    const { lostHits } = await simulate(policy, { updates: thresholdAlone(share), warmUpRequests: 1500 });
    lost.push(lostHits);
  }
  expect(lost).toEqual([...lost].sort((a, b) => a - b));
  expect(lost.at(-1)).toBeGreaterThan(2 * lost[0]! + 20);
});

test('simulateFleet counts no false hit of a summary that was never sent', async () => {
  const { falseHits, messages } = await simulate({ kind: 'summaries' }, { updates: thresholdAlone(1e9) });
  expect(messages.update).toBe(0);
  // Owners name nodes that have evicted the object since.
  expect(messages.query).toBeGreaterThan(0);
  expect(falseHits).toBe(0);
});

test('simulateFleet counts the wait for an origin that is far away', async () => {
  const result = await simulate({ kind: 'alone' }, { times: { localMs: 1, originMs: 200 } });
  const { mean, p50, p99 } = result.latencyMs;
  expect([p50, p99]).toEqual([201, 201]);
  const { requests, originFetches, joinedFetches } = result;
  // Requests that joined a fetch waited for a part of it.
  expect(mean).toBeGreaterThan(1 + (200 * originFetches) / requests);
  expect(mean).toBeLessThan(1 + (200 * (originFetches + joinedFetches)) / requests);
});

test('simulateFleet stops at its signal', async () => {
  const controller = new AbortController();
  const progress = () => controller.abort(new Error('enough'));
  const trace = smallZipf({ ...ZIPF, requests: 1e9 });
  await expect(simulate({ kind: 'alone' }, { trace, progress, signal: controller.signal })).rejects.toThrow(
    'enough',
  );
});

test.each([
  [{ nodes: 0 }, 'expected nodes to be from 1 to 1024, got 0'],
  [{ capacity: { objects: 0.5 } }, 'expected capacity to be a whole number from 1 on, got 0.5'],
  [{ policy: { kind: 'summaries', copies: 0.95 } }, 'expected copies to be 0 to 0.9, or 1, got 0.95'],
  [{ nodes: 2 }, 'expected a node below 2'],
] as const)('simulateFleet refuses %j', async (options, problem) => {
  await expect(simulate({ kind: 'alone' }, options as Partial<FleetOptions>)).rejects.toThrow(problem);
});
