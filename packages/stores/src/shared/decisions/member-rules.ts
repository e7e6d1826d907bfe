/**
 * The work of a member beside reading and writing: when it declares the log complete, when it makes
 * a snapshot, and how far it trims the log. All of it is decided from one look at the server.
 *
 * **Settling.** After a failover, a restart or a loss, the log on the server may lack adds that
 * were acknowledged. Every member then sends what it knows and confirms that. A server is settled
 * when each member with a recent beat has confirmed, and `settleMs` have passed since the doubt
 * began. The time is for members whose beat had not reached the new server. Until then all members
 * answer "maybe" to everything. A member that died is waited for as long as its last beat counts
 * (`memberMs`).
 *
 * **Snapshots** are made under a lease, so that one member at a time uploads its filter. The log is
 * trimmed to the snapshot before the new one: a reader that is one snapshot late can still read on.
 */

import type { ServerFacts } from './server-facts.ts';

export interface MemberTimes {
  /** Time during which a beat of a member counts. */
  readonly memberMs: number;
  /** Least time between the first doubt about a server and its settling. */
  readonly settleMs: number;
}

/** Whether the log on this server is known to be complete. */
export function isSettled({ meta, server }: ServerFacts): boolean {
  return meta !== null && meta.settled === server;
}

/** Whether the doubt about this server still has to be noted down. */
export function isDoubtNew({ meta, server }: ServerFacts): boolean {
  return meta !== null && meta.settled !== server && meta.pending !== server;
}

/** Whether this look allows to settle the server. */
export function maySettle(facts: ServerFacts, times: MemberTimes): boolean {
  const { meta, server, timeMs, members } = facts;
  if (meta === null || meta.settled === server || meta.pending !== server) return false;
  if (timeMs - meta.sinceMs < times.settleMs) return false;
  return members.every(({ confirmed, beatMs }) => confirmed === server || timeMs - beatMs > times.memberMs);
}

/** Members whose last beat is so old that their entry can go. */
export function goneMembers({ members, timeMs }: ServerFacts, { memberMs }: MemberTimes): string[] {
  return members.filter(({ beatMs }) => timeMs - beatMs > 10 * memberMs).map(({ id }) => id);
}

/** The log since the last snapshot, and the filter whose snapshot would replace it. */
export interface SnapshotCost {
  /** Hashes that this member read since the last snapshot. */
  readonly hashes: number;
  readonly filterBytes: number;
  /** Entries from which on a snapshot is due in any case. */
  readonly mostEntries: number;
}

/** Bytes of an entry in the log, beside its hashes. */
const ENTRY_BYTES = 100;
const HASH_BYTES = 8;
/** The log may have this many times the bytes of the filter. */
const LOG_SHARE = 12;
const LEAST_LOG_BYTES = 512 * 1024;

/**
 * Whether a snapshot is due. An upload costs as much as the filter has bytes, so it comes when the
 * log has twelve times as many: uploads then add less than a tenth to the traffic of adds, and a
 * new process reads at most 24 times the bytes of the filter.
 */
export function isSnapshotDue(
  { meta, log }: ServerFacts,
  { hashes, filterBytes, mostEntries }: SnapshotCost,
): boolean {
  if (meta === null || log === null) return false;
  const entries = log.entries - meta.snapshotEntries;
  const logBytes = ENTRY_BYTES * entries + HASH_BYTES * hashes;
  return entries >= mostEntries || logBytes >= Math.max(LEAST_LOG_BYTES, LOG_SHARE * filterBytes);
}

/**
 * The pause before attempt number `attempt` to reach the server: from 50 ms up to 2 s, doubled each
 * time, and cut by a random share so that the members of a fleet do not come at once.
 */
export function reconnectPauseMs(attempt: number, random: number): number {
  return Math.min(2000, 50 * 2 ** Math.min(attempt, 10)) * (0.5 + random / 2);
}
