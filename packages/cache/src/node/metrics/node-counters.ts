/**
 * The counters of a node, and how Prometheus reads them.
 *
 * On the hot path, counting is an addition to a number in a typed array: no labels are joined, no
 * map is searched, no object is created. Names and labels are added only when the metrics are
 * requested (`renderMetrics`). The text is the exposition format 0.0.4, written by hand: it is a
 * few lines of grammar, and a client library would cost more on the hot path than all of the
 * counting here.
 *
 * A snapshot is plain data that survives JSON, and the snapshots of several worker processes add up
 * to that of the node (`mergeSnapshots`). These are sums of sums of whole numbers (times in
 * microseconds), so the order does not matter. The delay of an event loop cannot be added; the
 * worst of all is used.
 *
 * Where it breaks down: an origin fetch is counted with the answer that it was for. A background
 * revalidation, and a fetch whose client has left, appear among the running ones (`activity`), but
 * in the bytes of no answer.
 */

import type { NeighbourTotals } from '../../peers/peer-report.ts';
import type { ProxyActivity } from '../../proxy/cache-proxy.ts';
import { DigestBook, type DigestCounts } from '../../proxy/digests/digest-book.ts';
import type { AnswerOutcome, AnswerRecord } from '../../proxy/proxy-observer.ts';
import type { StoreStatistics } from '../../store/response-store.ts';

export const OUTCOMES: readonly AnswerOutcome[] = [
  'hit',
  'stale',
  'validated',
  'miss',
  'neighbour',
  'collapsed',
  'bypass',
  'tunnel',
  'error',
  'refused',
];

/**
 * Upper bounds of the histogram, in seconds: a hit is near the first, an origin on another
 * continent near the middle.
 */
export const LATENCY_BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

const BUCKETS = LATENCY_BOUNDS.length + 1;
const BOUNDS_MS = Float64Array.from(LATENCY_BOUNDS, (seconds) => seconds * 1000);

export interface MetricsSnapshot {
  /** In the order of `OUTCOMES`. */
  readonly requests: readonly number[];
  /** 1xx to 5xx, by the first digit. */
  readonly statuses: readonly number[];
  readonly bytesOut: number;
  readonly bytesFromOrigin: number;
  /** Bytes of bodies that came from neighbours of all kinds. */
  readonly bytesFromNeighbours: number;
  /** For hits and for all other answers: the count per bucket (not cumulative), and the sum. */
  readonly latency: {
    readonly cache: readonly number[];
    readonly origin: readonly number[];
    readonly cacheMicros: number;
    readonly originMicros: number;
  };
  readonly originFetches: number;
  readonly originFailures: number;
  readonly aborted: number;
  readonly refusals: Readonly<Record<string, number>>;
  readonly relayed: number;
  readonly connections: number;
  readonly connectionsTotal: number;
  readonly connectionsRefused: number;
  /** Bodies that were compared with their digest. */
  readonly digests: DigestCounts;
  /** Objects that were served to neighbours, and the bytes of their bodies. */
  readonly objectsServed: number;
  readonly objectBytesServed: number;
  /** Fetches for nodes of other groups. */
  readonly objectsFetchedForGroups: number;
  /** Counts over the Squids of this process, which it keeps when the process has ended. */
  readonly squids: NeighbourTotals;
  readonly stores: Readonly<Record<string, StoreStatistics>>;
  /** The running fetches, flights, connections and tunnels. */
  readonly activity: ProxyActivity;
  readonly accessLogDropped: number;
  readonly process: ProcessFacts;
}

export interface ProcessFacts {
  readonly processes: number;
  readonly startedAt: number;
  readonly heapUsedBytes: number;
  readonly residentBytes: number;
  /** The number of open descriptors, or -1 if it is unknown on this system. */
  readonly openDescriptors: number;
  readonly cpuMicros: number;
  readonly eventLoopP50Ms: number;
  readonly eventLoopP99Ms: number;
  readonly eventLoopMaxMs: number;
}

/** The counters of one process. */
export class NodeCounters {
  readonly #requests = new Float64Array(OUTCOMES.length);
  readonly #statuses = new Float64Array(6);
  readonly #cacheLatency = new Float64Array(BUCKETS);
  readonly #originLatency = new Float64Array(BUCKETS);
  #cacheMs = 0;
  #originMs = 0;
  #bytesOut = 0;
  #bytesFromOrigin = 0;
  #bytesFromNeighbours = 0;
  #originFailures = 0;
  #aborted = 0;
  readonly #refusals = new Map<string, number>();
  /** Set by the code that does these things. */
  originFetches = 0;
  relayed = 0;
  connections = 0;
  connectionsTotal = 0;
  connectionsRefused = 0;
  objectsServed = 0;
  objectBytesServed = 0;
  objectsFetchedForGroups = 0;
  squids: NeighbourTotals = { summaryBytes: 0, trueHits: 0, falseHits: 0 };
  digests: DigestCounts = new DigestBook().counts;

  answered(record: AnswerRecord): void {
    const { outcome, durationMs } = record;
    this.#requests[INDEX[outcome]]++;
    this.#statuses[(record.status / 100) | 0]++;
    this.#bytesOut += record.bytesOut;
    this.#bytesFromOrigin += record.bytesFromOrigin;
    let bucket = 0;
    while (bucket < BOUNDS_MS.length && durationMs > BOUNDS_MS[bucket]) bucket++;
    if (outcome === 'hit' || outcome === 'stale') {
      this.#cacheLatency[bucket]++;
      this.#cacheMs += durationMs;
    } else if (outcome !== 'tunnel') {
      // A tunnel lasts as long as its client wants.
      this.#originLatency[bucket]++;
      this.#originMs += durationMs;
      if (outcome === 'miss' || outcome === 'validated' || outcome === 'bypass') this.originFetches++;
      else if (outcome === 'error') this.#originFailures++;
      else if (outcome === 'refused') this.#refuse(record.reason);
    }
    if (record.bytesFromNeighbours !== undefined) this.#bytesFromNeighbours += record.bytesFromNeighbours;
    if (record.aborted) this.#aborted++;
  }

  #refuse(reason: string): void {
    // Reasons are codes of this package; the limit guards against a reason that is ever derived
    // from a request.
    const known = this.#refusals.has(reason) || this.#refusals.size < 50 ? reason : 'other';
    this.#refusals.set(known, (this.#refusals.get(known) ?? 0) + 1);
  }

  snapshot(
    stores: Readonly<Record<string, StoreStatistics>>,
    accessLogDropped: number,
    facts: ProcessFacts,
    activity: ProxyActivity = IDLE,
  ): MetricsSnapshot {
    return {
      requests: [...this.#requests],
      statuses: [...this.#statuses],
      bytesOut: this.#bytesOut,
      bytesFromOrigin: this.#bytesFromOrigin,
      bytesFromNeighbours: this.#bytesFromNeighbours,
      latency: {
        cache: [...this.#cacheLatency],
        origin: [...this.#originLatency],
        cacheMicros: Math.floor(this.#cacheMs * 1000),
        originMicros: Math.floor(this.#originMs * 1000),
      },
      originFetches: this.originFetches,
      originFailures: this.#originFailures,
      aborted: this.#aborted,
      refusals: Object.fromEntries(this.#refusals),
      relayed: this.relayed,
      connections: this.connections,
      connectionsTotal: this.connectionsTotal,
      connectionsRefused: this.connectionsRefused,
      objectsServed: this.objectsServed,
      objectBytesServed: this.objectBytesServed,
      objectsFetchedForGroups: this.objectsFetchedForGroups,
      squids: this.squids,
      digests: this.digests,
      stores: Object.fromEntries(
        Object.entries(stores).map(([tier, statistics]) => [tier, copyOf(statistics)]),
      ),
      activity: { ...activity },
      accessLogDropped,
      process: facts,
    };
  }
}

/** Merges the snapshots of several processes into that of one node. */
export function mergeSnapshots(snapshots: readonly MetricsSnapshot[]): MetricsSnapshot {
  const [first, ...others] = snapshots;
  if (first === undefined) throw new RangeError('Cannot merge snapshots: expected at least one, got none');
  return others.reduce(mergeTwo, first);
}

function mergeTwo(a: MetricsSnapshot, b: MetricsSnapshot): MetricsSnapshot {
  const merged = addUp(a, b) as MetricsSnapshot;
  const worst = (name: keyof ProcessFacts) => Math.max(a.process[name], b.process[name]);
  return {
    ...merged,
    process: {
      ...merged.process,
      startedAt: Math.min(a.process.startedAt, b.process.startedAt),
      openDescriptors:
        a.process.openDescriptors < 0 || b.process.openDescriptors < 0 ? -1 : merged.process.openDescriptors,
      eventLoopP50Ms: worst('eventLoopP50Ms'),
      eventLoopP99Ms: worst('eventLoopP99Ms'),
      eventLoopMaxMs: worst('eventLoopMaxMs'),
    },
  };
}

/**
 * Adds numbers, and lists and objects element by element; a value that only one side has is taken
 * unchanged.
 */
function addUp(a: unknown, b: unknown): unknown {
  if (a === undefined) return b;
  if (b === undefined) return a;
  if (typeof a === 'number') return a + (b as number);
  if (Array.isArray(a)) return a.map((part, i) => addUp(part, (b as unknown[])[i]));
  const names = new Set([...Object.keys(a as object), ...Object.keys(b as object)]);
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      addUp((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
    ]),
  );
}

function copyOf({
  responses,
  bytes,
  capacityBytes,
  evictions,
  corrupt,
  refused,
  copies,
  copyBytes,
}: StoreStatistics): StoreStatistics {
  return { responses, bytes, capacityBytes, evictions, corrupt, refused, copies, copyBytes };
}

const IDLE: ProxyActivity = { fetches: 0, flights: 0, originConnections: 0, origins: 0, tunnels: 0 };
const INDEX = Object.fromEntries(OUTCOMES.map((outcome, i) => [outcome, i])) as Record<AnswerOutcome, number>;
