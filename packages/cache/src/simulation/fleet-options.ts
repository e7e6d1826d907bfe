/**
 * The options of a simulated fleet, and their defaults. Whatever is left out is as a node has it
 * without settings.
 */

import type { SendLimits } from 'bloomery/wire';
import type { CacheSize, FleetTimes } from './fleet-ground.ts';
import type { FetchedFrom } from './fleet-policy.ts';
import { checkChanges, type NodeChange } from './node-changes.ts';
import { BLOOM_FORMS } from './policies/bloom-form.ts';
import type { Trace } from './trace.ts';

/** The way in which the nodes cooperate. */
export type PolicyChoice =
  /** Not at all. */
  | { readonly kind: 'alone' }
  /** Every neighbour is queried at every miss. */
  | { readonly kind: 'icp' }
  /** Each node tells the URLs that it holds, as changes. */
  | { readonly kind: 'url-lists' }
  /** Summary Cache as published: everything is kept, and changed bits of a filter are told. */
  | { readonly kind: 'summary-cache'; readonly bitsPerEntry?: number; readonly hashes?: number }
  /** Squid's digests: the whole filter, rebuilt from time to time. */
  | { readonly kind: 'squid-digests'; readonly bitsPerEntry?: number; readonly rebuildMs?: number }
  /** Each object has one owner. `hotShare` of each node is a cache for objects of others. */
  | { readonly kind: 'consistent-hashing'; readonly hotShare?: number }
  /** The summaries of this cache. */
  | SummariesChoice
  /** The summaries of this cache inside groups of nodes, and another way between the groups. */
  | GroupsChoice;

export interface GroupsChoice {
  readonly kind: 'groups';
  /** Nodes of a group. The last one may have fewer. */
  readonly size: number;
  /** The way between the groups; see the heads of the files in policies/groups. */
  readonly between: BetweenChoice;
  /** Part of each node for copies, see `SummariesChoice`. */
  readonly copies?: number;
}

/** `nothing`: each group is a fleet of its own. */
export const BETWEEN_CHOICES = ['nothing', 'leader-union', 'group-owner'] as const;
export type BetweenChoice = (typeof BETWEEN_CHOICES)[number];

export interface SummariesChoice {
  readonly kind: 'summaries';
  /** Whether the owner of a key is asked before the origin. Default true. */
  readonly owner?: boolean;
  /**
   * Part of each node for copies that came from neighbours. 0 keeps single copies; 1 keeps and
   * publishes everything. Others are up to 0.9. Default 0.1.
   */
  readonly copies?: number;
  /**
   * The form of updates, whose bytes are counted: `set` is that of production, the others are Bloom
   * filters of the same rate (policies/bloom-form.ts). Default `set`.
   */
  readonly form?: SummaryForm;
  /**
   * Whether the nodes share one receiver of summaries, which gives the same figures in a fraction
   * of the time and memory (policies/shared-following.ts). Default true.
   */
  readonly sharesReceivers?: boolean;
}

export const SUMMARY_FORMS = ['set', ...BLOOM_FORMS] as const;
export type SummaryForm = (typeof SUMMARY_FORMS)[number];

/** The cache of each node: a number of objects, or bytes. */
export type NodeCapacity =
  | { readonly objects: number }
  | {
      readonly bytes: number;
      /**
       * Bytes that an object takes in the store, by its source: the head of one that came from a
       * neighbour is longer. Default: the bytes of its body.
       */
      readonly costOf?: (object: number, bytes: number, from: FetchedFrom) => number;
    };

export interface FleetOptions {
  readonly policy: PolicyChoice;
  /** From 1 to 1024. */
  readonly nodes: number;
  readonly capacity: NodeCapacity;
  /** Requests by rising times, for nodes below `nodes`. */
  readonly trace: Trace;
  /**
   * Default: local 0.1 ms, neighbour 1 ms and other groups 5 ms, both ± 10 %, origin 50 ms, bodies
   * at once.
   */
  readonly times?: Partial<FleetTimes>;
  /** Limits of the pace of updates. `thresholdAlone` makes those of Summary Cache. */
  readonly updates?: Partial<SendLimits>;
  /** False candidates that all neighbours together may give at a miss. Default 0.02. */
  readonly falseCandidates?: number;
  readonly seed: number;
  /** Requests that are played before anything is counted. Default 0. */
  readonly warmUpRequests?: number;
  /** Requests per point of `FleetResult.series`. Default: no series. */
  readonly seriesEvery?: number;
  /** Nodes that are replaced by empty ones before a request, counted with the warm-up. */
  readonly replacements?: readonly NodeReplacement[];
  /** Nodes that end and begin again, with `summaries` only. Nodes that are down get no requests. */
  readonly changes?: readonly NodeChange[];
  /** Called now and then with the number of requests that were played. */
  readonly progress?: (requests: number) => void;
  readonly signal?: AbortSignal;
}

export interface NodeReplacement {
  readonly beforeRequest: number;
  /** Share of the nodes; the ones with the lowest numbers are replaced. */
  readonly share: number;
}

export const DEFAULT_TIMES: FleetTimes = {
  localMs: 0.1,
  neighbourMs: 1,
  otherGroupMs: 5,
  neighbourJitter: 0.1,
  originMs: 50,
  neighbourBytesPerSecond: Number.POSITIVE_INFINITY,
  originBytesPerSecond: Number.POSITIVE_INFINITY,
};

/** A time that no change reaches, in milliseconds: 31 years. */
const NEVER_MS = 1e12;

/**
 * The pace of Summary Cache: changes are told when they are this share of the objects, however old
 * they are.
 */
export function thresholdAlone(changedShare: number): SendLimits {
  return {
    changedShare,
    additionAgeMs: NEVER_MS,
    deletionAgeMs: NEVER_MS,
    perSecond: Number.POSITIVE_INFINITY,
    bytesPerSecond: Number.POSITIVE_INFINITY,
  };
}

/** Objects are rarely smaller on average, so ghosts are sized by it, as in `MemoryStore`. */
const BYTES_PER_ENTRY = 4096;

/** The size of a cache as the simulation counts it. */
export function cacheSize(capacity: NodeCapacity): CacheSize {
  if ('objects' in capacity)
    return { capacity: capacity.objects, expectedEntries: capacity.objects, costOf: () => 1 };
  const { bytes, costOf = (_object: number, body: number) => body } = capacity;
  return { capacity: bytes, expectedEntries: Math.ceil(bytes / BYTES_PER_ENTRY), costOf };
}

/** Throws if the options cannot be simulated. */
export function checkFleetOptions(options: FleetOptions): void {
  const { policy, nodes, capacity, falseCandidates, warmUpRequests = 0, seriesEvery = 1 } = options;
  check('nodes', Number.isInteger(nodes) && nodes >= 1 && nodes <= 1024, 'from 1 to 1024', nodes);
  const size = 'objects' in capacity ? capacity.objects : capacity.bytes;
  check('capacity', Number.isInteger(size) && size >= 1, 'a whole number from 1 on', size);
  check('warmUpRequests', warmUpRequests >= 0, 'at least 0', warmUpRequests);
  check('seriesEvery', Number.isInteger(seriesEvery) && seriesEvery >= 1, 'from 1 on', seriesEvery);
  check('falseCandidates', (falseCandidates ?? 1) > 0, 'above 0', falseCandidates);
  if (policy.kind === 'groups') {
    const { size } = policy;
    check('size of a group', Number.isInteger(size) && size >= 2, 'a whole number from 2 on', size);
  }
  if (policy.kind === 'summaries' || policy.kind === 'groups') {
    const { copies = 0 } = policy;
    check('copies', copies === 1 || (copies >= 0 && copies <= 0.9), '0 to 0.9, or 1', copies);
  }
  if (policy.kind === 'consistent-hashing') {
    const { hotShare = 0 } = policy;
    check('hotShare', hotShare >= 0 && hotShare < 1, 'from 0 to below 1', hotShare);
  }
  if (options.changes !== undefined) checkChanges(options.changes, nodes, policy.kind);
  for (const { share } of options.replacements ?? [])
    check('share of a replacement', share >= 0 && share <= 1, 'from 0 to 1', share);
}

function check(name: string, isRight: boolean, expected: string, got: unknown): void {
  if (!isRight)
    throw new RangeError(`Cannot simulate a fleet: expected ${name} to be ${expected}, got ${got}`);
}
