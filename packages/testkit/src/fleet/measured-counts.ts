/**
 * Counts of a whole fleet: the sum of the statuses of all its nodes. A program that measures takes
 * them before and after, and prints the difference.
 */

import type { FleetStatus } from './fleet-node.ts';

export interface MeasuredCounts {
  /** Requests of clients, by the source of their answer. */
  readonly localHits: number;
  /** Requests that waited for the fetch of another request at the same node. */
  readonly collapsed: number;
  readonly neighbourHits: number;
  readonly misses: number;
  /** Requests with any other outcome; 0 unless something went wrong. */
  readonly otherOutcomes: number;
  readonly originFetches: number;
  readonly originBytes: number;
  /** Objects that nodes gave to neighbours, and the bytes of their bodies. */
  readonly objectsServed: number;
  readonly objectBytes: number;
  /** Published updates of summaries, and their bytes, counted once for all neighbours. */
  readonly updates: number;
  readonly updateBytes: number;
  /** Bytes of summaries that arrived: updates, heartbeats, answers to nodes that missed some. */
  readonly summaryBytes: number;
  /** Messages to owners of keys, without their answers. */
  readonly ownerQuestions: number;
  readonly trueHits: number;
  readonly falseHits: number;
  readonly falseMisses: number;
  /** Neighbours that did not answer in time, or not rightly. */
  readonly failures: number;
  readonly evictions: number;
  /** Stored responses, and their cost as the stores count it. */
  readonly stored: number;
  readonly storedCost: number;
}

/** The sum over these nodes, as they count now. */
export async function measuredCounts(
  nodes: readonly { readonly status: () => Promise<FleetStatus> }[],
): Promise<MeasuredCounts> {
  const statuses = await Promise.all(nodes.map((node) => node.status()));
  return statuses.map(countsOfNode).reduce((sum, counts) => combined(sum, counts, (a, b) => a + b));
}

/** The counts between two moments. */
export function countsSince(before: MeasuredCounts, after: MeasuredCounts): MeasuredCounts {
  return combined(after, before, (a, b) => a - b);
}

/** The counts of several groups of nodes together, since a moment. */
export function countsOver(before: MeasuredCounts, groups: readonly MeasuredCounts[]): MeasuredCounts {
  return countsSince(
    before,
    groups.reduce((sum, counts) => combined(sum, counts, (a, b) => a + b)),
  );
}

function combined(
  first: MeasuredCounts,
  second: MeasuredCounts,
  combine: (a: number, b: number) => number,
): MeasuredCounts {
  const names = Object.keys(first) as (keyof MeasuredCounts)[];
  return Object.fromEntries(
    names.map((name) => [name, combine(first[name], second[name])]),
  ) as unknown as MeasuredCounts;
}

function countsOfNode({ requests, originFetches, bytes, cooperation, stores }: FleetStatus): MeasuredCounts {
  const { total = 0, hit = 0, collapsed = 0, neighbour = 0, miss = 0 } = requests;
  const own = cooperation?.own;
  const tiers = Object.values(stores);
  const peers = cooperation?.peers ?? [];
  const sum = (read: (peer: (typeof peers)[number]) => number) =>
    peers.reduce((all, peer) => all + read(peer), 0);
  return {
    localHits: hit,
    collapsed,
    neighbourHits: neighbour,
    misses: miss,
    otherOutcomes: total - hit - collapsed - neighbour - miss,
    originFetches,
    originBytes: bytes.fromOrigins,
    objectsServed: own?.objectsServed ?? 0,
    objectBytes: own?.bytesServed ?? 0,
    updates: own?.updates ?? 0,
    updateBytes: own?.bytesPublished ?? 0,
    summaryBytes: sum(({ summaryBytes }) => summaryBytes),
    ownerQuestions: own?.ownerQuestions ?? 0,
    trueHits: sum(({ trueHits }) => trueHits),
    falseHits: sum(({ falseHits }) => falseHits),
    falseMisses: sum(({ falseMisses }) => falseMisses),
    failures: sum(({ failures }) => failures),
    evictions: tiers.reduce((all, { evictions }) => all + evictions, 0),
    stored: tiers.reduce((all, { responses }) => all + responses, 0),
    storedCost: tiers.reduce((all, { bytes: cost }) => all + cost, 0),
  };
}
