/**
 * One measurement of a real fleet for a comparison with a simulation: makes the processes fast and
 * leaves them empty, measures what objects cost in their stores, plays the trace, and counts. The
 * counts of the origin are its own, so that a node which counts wrongly is noticed.
 */

import type { ThrottledOrigin } from '../origins/throttled-origin.ts';
import type { Fleet } from './fleet.ts';
import { countsSince, type MeasuredCounts, measuredCounts } from './measured-counts.ts';
import { type PlayedRequest, type PlayedTrace, playTrace } from './play-trace.ts';
import { type StoredOverhead, storedOverhead } from './stored-overhead.ts';
import { warmFleet } from './warm-fleet.ts';

export interface MeasuredTrace {
  readonly played: PlayedTrace;
  readonly counts: MeasuredCounts;
  /** Requests that the origin got, and the bytes of bodies that it sent. */
  readonly originFetches: number;
  readonly originBytes: number;
  /** The capacity of each store. */
  readonly capacityBytes: number;
  readonly overhead: StoredOverhead;
}

/** Requests of this many different objects measure the overhead. */
const SAMPLES = 40;

export async function measureTrace(
  fleet: Fleet,
  origin: ThrottledOrigin,
  trace: readonly PlayedRequest[],
  { warmRounds }: { readonly warmRounds: number },
): Promise<MeasuredTrace> {
  await warmFleet(fleet, warmRounds);
  const sizes = new Map(trace.map(({ object, bytes }) => [object, bytes]));
  const step = Math.max(1, Math.floor(sizes.size / SAMPLES));
  const sample = [...sizes.values()].filter((_, at) => at % step === 0);
  const overhead = await storedOverhead(fleet.nodes, sample);
  const { capacityBytes } = (await fleet.nodes[0]!.status()).stores.memory!;
  origin.requests.length = 0;
  const before = await measuredCounts(fleet.nodes);
  const played = await playTrace(fleet.nodes, trace);
  const counts = countsSince(before, await measuredCounts(fleet.nodes));
  return {
    played,
    counts,
    originFetches: origin.requests.length,
    originBytes: origin.requests.reduce((sum, { bytes }) => sum + bytes, 0),
    capacityBytes,
    overhead,
  };
}
