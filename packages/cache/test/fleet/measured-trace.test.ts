/**
 * The measurement of a real fleet on a trace, which a comparison with the simulator relies on: the
 * counts of the nodes, of the origin and of the client are three, and they agree.
 */

import { measureTrace } from '@bloomery/testkit/fleet/measure-trace';
import { expect, test } from 'vitest';
import { startFleet, startKnownOrigin } from './start-fleet.ts';

const NODES = 3;
const REQUESTS = 240;
const OBJECTS = 80;

/** Each object is asked for three times, at different nodes, with all the others in between. */
const TRACE = Array.from({ length: REQUESTS }, (_, at) => ({
  timeMs: 10 * at,
  node: (at + Math.floor(at / OBJECTS)) % NODES,
  object: (at * 37) % OBJECTS,
  bytes: 2000 + 1500 * ((at * 37) % OBJECTS),
}));

test('nodes, origin and client agree on the requests of a trace, and on their bytes', async () => {
  const origin = await startKnownOrigin({ headDelayMs: 20 });
  const fleet = await startFleet({
    nodes: NODES,
    origin: origin.url,
    settings: () => ({ memory: '1MB' }),
  });
  const { played, counts, overhead, ...real } = await measureTrace(fleet, origin, TRACE, { warmRounds: 5 });
  expect(played).toMatchObject({ requests: REQUESTS, broken: 0, wrong: [] });
  expect(played.bytes).toBe(TRACE.reduce((sum, { bytes }) => sum + bytes, 0));
  const { localHits, collapsed, neighbourHits, misses } = counts;
  expect(localHits + collapsed + neighbourHits + misses).toBe(REQUESTS);
  expect(counts.otherOutcomes).toBe(0);
  expect([counts.originFetches, counts.originBytes]).toEqual([real.originFetches, real.originBytes]);
  expect(real.originFetches).toBe(misses);
  expect(counts.objectsServed).toBeGreaterThanOrEqual(neighbourHits);
  // The nodes began empty: what they hold now came with the trace, and some of it is gone again.
  expect(counts.evictions).toBeGreaterThan(0);
  expect(counts.storedCost).toBeLessThanOrEqual(NODES * real.capacityBytes);
  expect(counts.storedCost).toBeGreaterThan((NODES * real.capacityBytes) / 2);
  // The constants of response-cost.ts are 760 bytes, and heads take the rest.
  expect(overhead.ownBytes).toBeGreaterThan(760);
  expect(overhead.ownBytes).toBeLessThan(2000);
  if (overhead.copyBytes !== null) expect(overhead.copyBytes).toBeGreaterThan(overhead.ownBytes);
});
