/**
 * A simulated fleet of 1,000 requests for tests of the page. All figures but the given ones are
 * plain.
 */

import type { FleetResult } from '@bloomery/cache/simulation';

export const NO_MESSAGES: FleetResult['messages'] = {
  update: 0,
  query: 0,
  reply: 0,
  'owner-question': 0,
  'owner-answer': 0,
  'catch-up': 0,
  heartbeat: 0,
};

/** The result if `origin` of the 1,000 requests went to the origin. */
export function madeResult(origin: number, given: Partial<FleetResult> = {}): FleetResult {
  return {
    requests: 1000,
    localHits: 100,
    joinedFetches: 0,
    neighbourHits: 900 - origin,
    originFetches: origin,
    bytesBySource: { local: 0, neighbour: 0, origin: 0 },
    falseHits: 0,
    lostHits: 0,
    messages: NO_MESSAGES,
    messageBytes: NO_MESSAGES,
    objectBytes: 0,
    betweenGroups: { hits: 0, messages: 0, messageBytes: 0, objectBytes: 0, busiestLeader: 0 },
    roundTrips: 0,
    summaryMemory: null,
    latencyMs: { mean: 1, p50: 1, p99: 1 },
    skew: 1,
    distinctObjects: 1,
    heldObjects: 1,
    stalenessMs: null,
    durationMs: 1,
    series: [],
    ...given,
  };
}
