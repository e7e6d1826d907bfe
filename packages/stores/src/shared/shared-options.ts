/**
 * The options of a shared filter, with their defaults.
 */

import type { AbortSignalLike, SecretKey } from 'bloomery';
import type { RedisClient } from './redis/redis-client.ts';

/** The options that filters in memory and filters on the server have in common. */
export interface RedisFilterOptions {
  /** A client of the npm package `redis` or `ioredis`. Only its settings are used. */
  readonly redis: RedisClient;
  /** The name of the filter in Redis. */
  readonly name: string;
  /** The number of keys that the first stage is made for. The filter grows past it. */
  readonly capacity: number;
  /** The rate that is never exceeded, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
  /** Hashes under a secret key, so that Redis learns nothing about the keys. */
  readonly key?: SecretKey;
  /** A public seed of the hash, where there is no secret key. */
  readonly seed?: number | bigint;
  /** The replicas that 'wait' waits for. Default 1. */
  readonly replicas?: number;
  /** Accepts a server that may evict the filter. Default false. */
  readonly acceptEviction?: boolean;
  /** Takes errors after which this process tries again by itself. */
  readonly onError?: (error: Error) => void;
  /** Ends the start. */
  readonly signal?: AbortSignalLike;
}

export interface SharedFilterOptions extends RedisFilterOptions {
  /**
   * 'ack' (default): an add is done when Redis has it. A failover can lose it until this process
   * has sent it again, and for good if this process dies in between. 'wait': an add is done when
   * `replicas` replicas have it.
   */
  readonly durability?: 'ack' | 'wait';
  /** The age from which on the filter answers "maybe" to everything. Default 10 s. */
  readonly maxAgeMs?: number;
  /** Whether a filter that does not exist is created. Default true. */
  readonly create?: boolean;
  /** Whether a filter that Redis lost is restored from the memory of this process. Default true. */
  readonly restore?: boolean;
  /** Hashes that may wait for the server before `add` is refused. Default 4 million (32 MB). */
  readonly maxPending?: number;
  /** Times that rarely need a change. */
  readonly timing?: Partial<SharedTiming>;
}

export interface SharedTiming {
  /**
   * Least time between two batches of adds that this process sends. An add that comes later than
   * this after the last batch is sent at once, and other adds wait for the next batch. Default 10.
   */
  readonly flushMs: number;
  /**
   * Least time between two reads of a busy log, so that a process wakes up less often. A caller of
   * `waitFor`, or of `has` with `after`, ends it early. Default 8.
   */
  readonly readPauseMs: number;
  /** Time between two looks at the server. Default 500. */
  readonly lookMs: number;
  /** Least time in doubt after a failover, a loss or the creation of a filter. Default 5000. */
  readonly settleMs: number;
  /** Time for which a member that does not answer is waited for after a failover. Default 15 s. */
  readonly memberMs: number;
  /** Time for one snapshot. Default 30 s. */
  readonly leaseMs: number;
  /** Time that adds are kept where there is no replica. Default 30 s. */
  readonly keepMs: number;
  /** Entries in the log from which on a snapshot is due in any case. Default one million. */
  readonly snapshotEntries: number;
}

export const DEFAULT_TIMING: SharedTiming = {
  flushMs: 10,
  readPauseMs: 8,
  lookMs: 500,
  settleMs: 5000,
  memberMs: 15_000,
  leaseMs: 30_000,
  keepMs: 30_000,
  snapshotEntries: 1_000_000,
};

export const DEFAULT_MAX_AGE_MS = 10_000;
export const DEFAULT_MAX_PENDING = 4_000_000;
