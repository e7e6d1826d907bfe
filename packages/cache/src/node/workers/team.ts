/**
 * Several processes, one cache: what a worker knows about the others. Each key belongs to one
 * worker (`ownerOf`), which alone stores and fetches it. Single flight and invalidation are
 * therefore as exact as in one process. The workers share nothing but this rule.
 *
 * We refused a store that several processes write: it needs locks on the hot path, and each memory
 * would still hold a second copy of each hot object. We refused to route whole connections by
 * client: one busy client would load one worker, and the same object would be fetched once per
 * worker.
 */

import type { MemberReport, TeamReport } from '../admin/status.ts';
import type { WholeNode } from '../console/console-part.ts';
import type { FleetAccess } from '../fleet/object-exchange.ts';

export interface Team {
  /** Counted from 0. */
  readonly index: number;
  readonly size: number;
  /** The Unix socket on which a worker takes requests from the others. */
  socketPath(worker: number): string;
  /** Makes the owner remove a key, even if it is being restarted. */
  removeKey(owner: number, key: string): Promise<number>;
  /**
   * The reports of all workers, including this one and those that ended. Rejects instead of leaving
   * one out, because a sum without it would be smaller than before.
   */
  collect(own: () => MemberReport): Promise<TeamReport>;
  /**
   * Announces that this worker's clients are served; resolves when those of all other workers are.
   */
  drained(): Promise<void>;
  /** The token that the primary drew for all workers. */
  readonly token?: string;
  /** The whole node, for the console; absent if this process has its own. */
  readonly console?: WholeNode;
  /** The secret for the names of objects in the console, which the primary drew. */
  readonly objectKey?: Uint8Array;
  /** The node in its fleet, which the primary keeps; null or absent if it has no neighbours. */
  readonly fleet?: FleetAccess | null;
}

/**
 * FNV-1a over the characters: evenly distributed, and 0.1 µs for a URL. A client that chooses URLs
 * can choose their worker, and so burden one process of several.
 */
export function ownerOf(key: string, size: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  // The low bits of FNV are weak; a multiplication spreads the high ones over the range.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 0;
  return Math.floor((hash / 2 ** 32) * size);
}
