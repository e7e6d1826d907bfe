/**
 * The answer of `/.bloomery/status`: the state of the node as one JSON object, for people with
 * `curl` and for the command. Metrics are for graphs; the status answers what the node is doing and
 * how well. It contains no URL and no client.
 */

import {
  type CooperationReport,
  type FleetReport,
  mergeSquids,
  type SquidsReport,
} from '../../peers/peer-report.ts';
import { type MetricsSnapshot, mergeSnapshots, OUTCOMES } from '../metrics/node-counters.ts';

/** The report of one process. */
export interface MemberReport {
  /** Counted from 0. */
  readonly worker: number;
  readonly pid: number;
  /** Time of the report. */
  readonly at: number;
  readonly snapshot: MetricsSnapshot;
  /** The Squids of this process, or null if it has none. */
  readonly squids?: SquidsReport | null;
}

/** The reports of all processes. */
export interface TeamReport {
  /** The latest report of each running process, in their order. */
  readonly members: readonly MemberReport[];
  /** The counts of processes that have ended, or null if none has. */
  readonly ended: MetricsSnapshot | null;
  /** The neighbours, from the process that knows them; null if the node has none. */
  readonly fleet?: FleetReport | null;
}

export interface NodeStatus {
  readonly name: string;
  readonly version: string;
  readonly node: string;
  readonly state: 'running' | 'stopping';
  readonly startedAt: string;
  readonly uptimeSeconds: number;
  readonly listen: readonly string[];
  readonly forward: boolean;
  readonly upstreams: readonly string[];
  readonly requests: Readonly<Record<string, number>> & { readonly total: number };
  /**
   * The fraction of requests that a cache could have answered for which no origin was asked; null
   * before the first such request.
   */
  readonly hitRatio: number | null;
  /** The fraction of sent bytes that did not come from an origin; null before the first byte. */
  readonly byteHitRatio: number | null;
  readonly bytes: { readonly sent: number; readonly fromOrigins: number };
  readonly originFetches: number;
  readonly originFailures: number;
  readonly connections: number;
  /** Lines that the access log lost. */
  readonly accessLogDropped: number;
  readonly stores: MetricsSnapshot['stores'];
  readonly eventLoopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly residentBytes: number;
  /** The neighbours, or null if the node has none. */
  readonly cooperation: CooperationReport | null;
  /** The Squids, or null if the node has none. */
  readonly squids: SquidsReport | null;
  readonly workers: readonly {
    readonly worker: number;
    readonly pid: number;
    readonly requests: number;
    readonly connections: number;
    readonly residentBytes: number;
    /**
     * Age of these numbers: more than a second or two means that the worker is too busy to answer.
     */
    readonly ageMs: number;
  }[];
}

export interface StatusFacts {
  readonly name: string;
  readonly version: string;
  readonly stopping: boolean;
  readonly listen: readonly string[];
  readonly forward: boolean;
  readonly upstreams: readonly string[];
  readonly now: number;
}

/** The totals of the whole node, including processes that have ended. */
export function totalOf({ members, ended }: TeamReport): MetricsSnapshot {
  const living = members.map(({ snapshot }) => snapshot);
  return mergeSnapshots(ended === null ? living : [ended, ...living]);
}

/** The neighbours, and what all processes served to them. */
export function cooperationOf(
  { fleet }: TeamReport,
  { objectsServed, objectBytesServed, objectsFetchedForGroups }: MetricsSnapshot,
): CooperationReport | null {
  if (fleet == null) return null;
  const { groups } = fleet;
  return {
    ...fleet,
    own: { ...fleet.own, objectsServed, bytesServed: objectBytesServed },
    groups: groups == null ? null : { ...groups, fetched: objectsFetchedForGroups },
  };
}

/** The Squids, as all processes together see them. */
export function squidsOf({ members }: TeamReport): SquidsReport | null {
  return mergeSquids(members.flatMap(({ squids }) => squids ?? []));
}

export function statusOf(report: TeamReport, facts: StatusFacts): NodeStatus {
  const all = totalOf(report);
  const { name, version, stopping, listen, forward, upstreams, now } = facts;
  const byOutcome = Object.fromEntries(OUTCOMES.map((outcome, i) => [outcome, all.requests[i]])) as Record<
    (typeof OUTCOMES)[number],
    number
  >;
  const { hit, stale, collapsed, validated, miss, neighbour } = byOutcome;
  const answerable = hit + stale + collapsed + validated + miss + neighbour;
  return {
    name,
    version,
    node: process.version,
    state: stopping ? 'stopping' : 'running',
    startedAt: new Date(all.process.startedAt).toISOString(),
    uptimeSeconds: Math.round((now - all.process.startedAt) / 1000),
    listen,
    forward,
    upstreams,
    requests: { total: sum(all.requests), ...byOutcome },
    hitRatio: answerable === 0 ? null : (hit + stale + collapsed + neighbour) / answerable,
    byteHitRatio: all.bytesOut === 0 ? null : Math.max(0, 1 - all.bytesFromOrigin / all.bytesOut),
    bytes: { sent: all.bytesOut, fromOrigins: all.bytesFromOrigin },
    originFetches: all.originFetches,
    originFailures: all.originFailures,
    connections: all.connections,
    accessLogDropped: all.accessLogDropped,
    stores: all.stores,
    eventLoopDelayMs: {
      p50: all.process.eventLoopP50Ms,
      p99: all.process.eventLoopP99Ms,
      max: all.process.eventLoopMaxMs,
    },
    residentBytes: all.process.residentBytes,
    cooperation: cooperationOf(report, all),
    squids: squidsOf(report),
    workers: report.members.map(({ worker, pid, at, snapshot }) => ({
      worker,
      pid,
      requests: sum(snapshot.requests),
      connections: snapshot.connections,
      residentBytes: snapshot.process.residentBytes,
      ageMs: Math.max(0, now - at),
    })),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
