/**
 * The counts of a node as the console and its history read them (docs/spec/console.md, "Counts"):
 * sums since the start of the node, over all its processes and those that have ended. They never
 * fall while `startedAt` stays the same, so a reader can take the difference of any two.
 *
 * They are computed from the reports that `/.bloomery/status` shows, so both say the same.
 */

import type { NeighbourTotals } from '../../peers/peer-report.ts';
import type { AnswerOutcome } from '../../proxy/proxy-observer.ts';
import { squidsOf, type TeamReport, totalOf } from '../admin/status.ts';
import { LATENCY_BOUNDS, OUTCOMES } from '../metrics/node-counters.ts';

interface StoredCount {
  readonly objects: number;
  readonly bytes: number;
}

export interface Counts {
  /** The node's clock. */
  readonly at: number;
  readonly startedAt: number;
  readonly requests: Readonly<Record<AnswerOutcome, number>>;
  readonly bytesSent: number;
  readonly bytesFromOrigins: number;
  readonly bytesFromNeighbours: number;
  /** Numbers of answers in each bucket, not cumulative. */
  readonly latency: {
    /** Upper bounds; there is one bucket more than bounds. */
    readonly boundsMs: readonly number[];
    /** Hits, fresh and stale. */
    readonly cache: readonly number[];
    /** All others but tunnels. */
    readonly other: readonly number[];
  };
  readonly summaryBytesIn: number;
  readonly summaryBytesOut: number;
  readonly trueHits: number;
  readonly falseHits: number;
  /** Stored responses. One that is asked for often is in both, so they are not added up. */
  readonly inMemory: StoredCount;
  /** The responses on disk; null without one. */
  readonly onDisk: StoredCount | null;
  readonly originFailures: number;
  readonly connections: number;
}

/** Upper bounds of the latency buckets, in ms. */
export const BOUNDS_MS: readonly number[] = LATENCY_BOUNDS.map((seconds) => seconds * 1000);

export function countsOf(report: TeamReport, now: number): Counts {
  const all = totalOf(report);
  const tier = (name: 'memory' | 'disk'): StoredCount | null => {
    const found = all.stores[name];
    return found === undefined ? null : { objects: found.responses, bytes: found.bytes };
  };
  const fleet = report.fleet ?? null;
  const sum = (name: keyof NeighbourTotals) => (fleet?.totals[name] ?? 0) + all.squids[name];
  return {
    at: now,
    startedAt: all.process.startedAt,
    requests: Object.fromEntries(
      OUTCOMES.map((outcome, i) => [outcome, all.requests[i] as number]),
    ) as Counts['requests'],
    bytesSent: all.bytesOut,
    bytesFromOrigins: all.bytesFromOrigin,
    bytesFromNeighbours: all.bytesFromNeighbours,
    latency: { boundsMs: BOUNDS_MS, cache: all.latency.cache, other: all.latency.origin },
    summaryBytesIn: sum('summaryBytes'),
    summaryBytesOut: fleet?.own.bytesPublished ?? 0,
    trueHits: sum('trueHits'),
    falseHits: sum('falseHits'),
    inMemory: tier('memory') ?? { objects: 0, bytes: 0 },
    onDisk: tier('disk'),
    originFailures: all.originFailures,
    connections: all.connections,
  };
}

/** The counts for the history, and the number of neighbours of all kinds that are up. */
export function lookAt(report: TeamReport, now: number): { counts: Counts; peersUp: number } {
  const peers = [...(report.fleet?.peers ?? []), ...(squidsOf(report)?.squids ?? [])];
  return { counts: countsOf(report, now), peersUp: peers.filter(({ state }) => state === 'up').length };
}
