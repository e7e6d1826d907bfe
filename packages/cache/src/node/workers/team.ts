/**
 * Several processes, one cache: what a worker knows of the others. Each key belongs to one of them (`ownerOf`), who alone stores it and alone fetches
 * it; so single flight and invalidation are as exact as in one process. Nothing is shared but this rule.
 *
 * Refused: a store that several processes write (locks on the hot path, and a second copy of each hot object in each memory all the
 * same), and routing whole connections by client (one busy client, and the same object fetched once for each worker).
 */

import type { MemberReport, TeamReport } from '../admin/status.ts';

export interface Team {
  /** From 0 on. */
  readonly index: number;
  readonly size: number;
  /** Where a worker takes requests from the others: a Unix socket. */
  socketPath(worker: number): string;
  /** Has the owner forget a key, also if it is just being restarted. */
  removeKey(owner: number, key: string): Promise<number>;
  /** What all report, this one and those that ended included. Rejects rather than leave one out: a sum without it would be smaller than before. */
  collect(own: () => MemberReport): Promise<TeamReport>;
  /** This worker's clients are served; resolves when those of all others are. */
  drained(): Promise<void>;
}

/** FNV-1a over the characters: even, and 0.1 µs for a URL. A client who chooses URLs can choose their worker; that gains it one process of several. */
export function ownerOf(key: string, size: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  // The low bits of FNV are weak: a multiplication spreads the high ones over the range.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 0;
  return Math.floor((hash / 2 ** 32) * size);
}
