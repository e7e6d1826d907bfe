/**
 * The state of cooperation as people see it: in `/.bloomery/status`, in the metrics, and in
 * `bloomery cache peers`. It is plain data that survives JSON. It contains no URL and no key.
 */

import type { PeerState } from '@bloomery/transport';
import type { DnsReport } from '@bloomery/transport/membership';
import type { MulticastStatus } from '@bloomery/transport/multicast';
import type { NatsStatus } from '@bloomery/transport/nats';
import type { SummaryVersion } from './objects/object-response.ts';

/** One secret of the fleet, as this node and a neighbour use it. */
interface KeyReport {
  /** The key id, in 8 hexadecimal digits. */
  readonly id: string;
  /** Whether it signs what this node sends to the neighbour. */
  readonly isUsed: boolean;
  /** Whether the neighbour accepts it as well. */
  readonly isShared: boolean;
  /** Objects in the neighbour's summary under it, or null if there is none. */
  readonly objects: number | null;
}

/** The name of a secret for people. It says nothing about the secret itself. */
export function keyName(keyId: number): string {
  return keyId.toString(16).padStart(8, '0');
}

/** The name of a state of a summary for people: 1763400000.17. */
export function generationName(version: SummaryVersion): string;
export function generationName(version: SummaryVersion | null): string | null;
export function generationName(version: SummaryVersion | null): string | null {
  return version === null ? null : `${version.epoch}.${version.sequence}`;
}

/** The time at which a wait ends, or null if there is none or its end is unknown. */
export function untilOf(waitMs: number | null, now: number): number | null {
  return waitMs === null || waitMs <= 0 ? null : Math.round(now + waitMs);
}

/** One neighbour, as this node sees it. */
export interface PeerReport {
  /** The URL of its peer port. */
  readonly address: string;
  /** The source of the address: `settings`, `dns` and a name, `nats` or `multicast`. */
  readonly source: string;
  /** The name that the DNS has for it, or null. */
  readonly dnsName: string | null;
  /** The name that the neighbour gave itself, or null before the first contact. */
  readonly id: string | null;
  /** `self` is this node under another address: it is never asked. */
  readonly state: PeerState;
  /** The reason why this neighbour is not asked at present, or null if it is. */
  readonly masked: string | null;
  /** Objects in its summary. */
  readonly objects: number;
  /**
   * Name of the state of its summary that is held here, or null if there is none. It is current if
   * the neighbour's own report names the same state.
   */
  readonly generation: string | null;
  /** Expected share of wrong "maybe" answers of this summary. */
  readonly falsePositiveRate: number;
  /** The secrets that this node knows: two while the operator changes them. */
  readonly keys: readonly KeyReport[];
  /** Time since its last message, or null if there was none. */
  readonly silentMs: number | null;
  /** Bytes of summary messages that came from it. */
  readonly summaryBytes: number;
  /** Memory that its summary takes here. */
  readonly memoryBytes: number;
  /**
   * Squid's four names for what a digest said and what was found (`decisions/peer-score.ts`).
   */
  readonly trueHits: number;
  readonly falseHits: number;
  readonly trueMisses: number;
  readonly falseMisses: number;
  /** Object requests that failed: no answer in time, a broken connection, wrong bytes. */
  readonly failures: number;
  /** The part of the failures that were deadlines which passed without an answer. */
  readonly late: number;
  /** Objects that it sent with another digest than their name says. */
  readonly forged: number;
  /** Time to the head of an answer, or null before the first. */
  readonly latencyMs: { readonly median: number; readonly p95: number } | null;
  /** Bytes of objects that came from it. */
  readonly objectBytes: number;
  readonly kind: 'bloomery' | 'squid';
  /** The group of nodes that it says it is in, or null. */
  readonly group: string | null;
  /** Whether it leads that group, as far as this node knows. */
  readonly isLeader: boolean;
  /** Time at which the summary that is held here was last current, in ms since 1970, or null. */
  readonly summaryAt: number | null;
  /** Bytes of its last full state and of its last delta, as they came; null before the first. */
  readonly fullBytes: number | null;
  readonly deltaBytes: number | null;
  /** Number of positions of its summary, or of bits of a Squid's digest; null without one. */
  readonly universe: number | null;
  /** Time at which a masked neighbour is asked again, in ms since 1970, or null if unknown. */
  readonly maskedUntil: number | null;
}

/** Counts over all neighbours since the start, including those that have left. */
export interface NeighbourTotals {
  readonly summaryBytes: number;
  readonly trueHits: number;
  readonly falseHits: number;
}

/** The totals of neighbours that never leave. */
export function totalsOf(peers: readonly PeerReport[]): NeighbourTotals {
  const sum = (name: keyof NeighbourTotals) => peers.reduce((total, peer) => total + peer[name], 0);
  return {
    summaryBytes: sum('summaryBytes'),
    trueHits: sum('trueHits'),
    falseHits: sum('falseHits'),
  };
}

/** The summary that this node publishes. */
export interface OwnSummaryReport {
  readonly id: string;
  /** Addresses on which neighbours reach this node. */
  readonly listen: readonly string[];
  /** Stored objects that neighbours may have. */
  readonly objects: number;
  /** The secrets that this node knows, the preferred one first, and its objects under each. */
  readonly keys: readonly { readonly id: string; readonly objects: number }[];
  /**
   * Expected share of wrong "maybe" answers of this summary. It is small unless millions of objects
   * have to fit into one message.
   */
  readonly falsePositiveRate: number;
  /** Name of the last published state. */
  readonly generation: string;
  readonly updates: number;
  readonly bytesPublished: number;
  /** Bytes of the whole summary as last sent, or an estimate if it was never sent. */
  readonly fullBytes: number;
  /** Bytes of the last delta, or null before the first. */
  readonly deltaBytes: number | null;
  /** Number of positions of the summary. */
  readonly universe: number;
  /** Messages from this node to owners of keys that are other nodes. */
  readonly ownerQuestions: number;
  /** Objects that were served to neighbours, and their bytes. */
  readonly objectsServed: number;
  readonly bytesServed: number;
  /** Memory of all summaries of neighbours, and its bound. */
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
}

/** Another group of the fleet, as this node knows it. */
export interface GroupReport {
  readonly group: string;
  /** Leader and epoch by the last list that was heard, or null before the first. */
  readonly leader: string | null;
  readonly epoch: number | null;
  /** Members in that list. */
  readonly members: number;
  /** Nodes of the group whose links are up. */
  readonly up: number;
  /** Whether it owns keys: its leader was heard lately. */
  readonly isOwner: boolean;
}

/** Questions to the finder of objects, and the nodes that it named. */
export interface FinderReport {
  readonly questions: number;
  readonly named: number;
}

/** The groups of the fleet, and the questions of this node to other groups. */
export interface GroupsReport extends Omit<GroupReport, 'up' | 'isOwner'> {
  readonly isLeader: boolean;
  /** Nodes of the fleet that are up and in no group. */
  readonly ungrouped: number;
  readonly others: readonly GroupReport[];
  /** Questions for objects to nodes of other groups, and their outcomes. */
  readonly questions: number;
  readonly hits: number;
  readonly refused: number;
  readonly failed: number;
  /** Bytes of objects that came from other groups. */
  readonly objectBytes: number;
  /** Questions to the finder of objects (--group-find), or null without it. */
  readonly finds: FinderReport | null;
}

/**
 * The report of the process that knows the neighbours. Objects are served by the processes that
 * store them.
 */
export interface FleetReport {
  readonly own: Omit<OwnSummaryReport, 'objectsServed' | 'bytesServed'>;
  readonly peers: readonly PeerReport[];
  readonly totals: NeighbourTotals;
  /** The names of `--peers-dns`, and how their look-ups go. */
  readonly dns: readonly DnsReport[];
  /** The connection to the server of `--nats`, or null without it. */
  readonly nats: NatsStatus | null;
  /** The group of `--peer-multicast`, or null without it. */
  readonly multicast: MulticastStatus | null;
  /** The groups of the fleet, or null if this node is in none. */
  readonly groups: GroupsReport | null;
}

export interface CooperationReport extends Omit<FleetReport, 'own' | 'groups'> {
  readonly own: OwnSummaryReport;
  /** `fetched`: objects that this node fetched because a node of another group asked for them. */
  readonly groups: (GroupsReport & { readonly fetched: number }) | null;
}

/** Squids as this node sees them, and what it served to them. */
export interface SquidsReport {
  /** The digests that this node served, or null if it serves none. */
  readonly served: {
    readonly digests: number;
    /** Objects in the last one, or null before the first. */
    readonly objects: number | null;
  } | null;
  /** The Squids that this node asks, in their order. */
  readonly squids: readonly PeerReport[];
}

/** Merges the reports of a node's processes, each of which keeps its own counts. */
export function mergeSquids(reports: readonly SquidsReport[]): SquidsReport | null {
  const [first, ...others] = reports;
  return first === undefined ? null : others.reduce(mergeTwo, first);
}

function mergeTwo(a: SquidsReport, b: SquidsReport): SquidsReport {
  const objects = Math.max(a.served?.objects ?? -1, b.served?.objects ?? -1);
  return {
    served:
      a.served === null || b.served === null
        ? (a.served ?? b.served)
        : { digests: a.served.digests + b.served.digests, objects: objects < 0 ? null : objects },
    squids: a.squids.map((squid, i) => mergePeers(squid, b.squids[i]!)),
  };
}

/** Counts are added. State, latency and digest are those of the first process that has a digest. */
function mergePeers(a: PeerReport, b: PeerReport): PeerReport {
  const sums = Object.fromEntries(COUNTS.map((name) => [name, a[name] + b[name]]));
  return { ...(a.state === 'down' && b.state === 'up' ? b : a), ...sums };
}

const COUNTS = [
  'summaryBytes',
  'memoryBytes',
  'trueHits',
  'falseHits',
  'trueMisses',
  'falseMisses',
  'failures',
  'late',
  'objectBytes',
] as const satisfies readonly (keyof PeerReport)[];
