/**
 * The time to publish: a pure decision from what has changed, what was sent, and the clock.
 *
 * The advice of Summary Cache is to send when 1 to 10 % of the documents are new. Small and quiet
 * sets would then wait for hours, so a change is also sent when it gets old. Busy sets would send
 * hundreds of times a second, so the number of messages per second has a limit. A message is larger
 * per change if it has few of them: the delta of 1 % of 100,000 keys takes 11.5 bits per change,
 * that of 0.1 % 16.3.
 *
 * Additions first. A missing addition costs a fetch from the origin, a missing deletion one short
 * round trip. So deletions wait longer, and join the additions when they are due themselves or when
 * a share of the keys has changed.
 *
 * Bandwidth. Each message reserves the time that the link needs for it. Under a cap the pace
 * becomes slower, and messages carry more changes each.
 *
 * The caller keeps the two states, calls `shouldSend` after each change and when its timer ends,
 * and `afterSending` after each message.
 */

/** Limits of a publisher. */
export interface SendLimits {
  /** Share of the keys that may have changed before they are sent. */
  readonly changedShare: number;
  /** Longest time that an addition waits for others. */
  readonly additionAgeMs: number;
  /** Longest time that a deletion waits for others. */
  readonly deletionAgeMs: number;
  /** Messages per second at most. */
  readonly perSecond: number;
  /** Bytes per second at most, to all subscribers together. */
  readonly bytesPerSecond: number;
}

export const SEND_LIMITS: SendLimits = {
  changedShare: 0.01,
  additionAgeMs: 250,
  deletionAgeMs: 1000,
  perSecond: 4,
  bytesPerSecond: Number.POSITIVE_INFINITY,
};

/** The changes that wait. */
export interface PendingChanges {
  /** Keys of the set. */
  readonly size: number;
  readonly additions: number;
  readonly deletions: number;
  /** Time of the oldest addition that waits. Without additions it is not used. */
  readonly additionsSince: number;
  /** Time of the oldest deletion that waits. Without deletions it is not used. */
  readonly deletionsSince: number;
}

/** The messages that went out. */
export interface SendPace {
  readonly lastSentAt: number;
  /** Time at which the link is free again, under the cap. */
  readonly freeAt: number;
}

/** The pace before the first message. */
export const AT_REST: SendPace = { lastSentAt: Number.NEGATIVE_INFINITY, freeAt: Number.NEGATIVE_INFINITY };

export interface SendDecision {
  readonly send: 'all' | 'additions' | 'nothing';
  /** Time until the next decision, if nothing is sent. Infinity: the next change brings it. */
  readonly waitMs: number;
}

/** Decides what to publish now. All times are milliseconds of one clock. */
export function shouldSend(
  pending: PendingChanges,
  pace: SendPace,
  now: number,
  limits: SendLimits = SEND_LIMITS,
): SendDecision {
  const { size, additions, deletions } = pending;
  const isMany = additions + deletions >= limits.changedShare * size;
  const additionsAt = dueAt(additions, isMany, pending.additionsSince + limits.additionAgeMs);
  const deletionsAt = dueAt(deletions, isMany, pending.deletionsSince + limits.deletionAgeMs);
  const at = Math.max(
    Math.min(additionsAt, deletionsAt),
    pace.lastSentAt + 1000 / limits.perSecond,
    pace.freeAt,
  );
  if (now < at) return { send: 'nothing', waitMs: at - now };
  // Deletions alone, or together with additions that would follow soon.
  return { send: deletionsAt <= now ? 'all' : 'additions', waitMs: 0 };
}

/** The pace after a message, with its bytes to all subscribers together. */
export function afterSending(
  pace: SendPace,
  bytes: number,
  now: number,
  limits: SendLimits = SEND_LIMITS,
): SendPace {
  return { lastSentAt: now, freeAt: Math.max(pace.freeAt, now) + (1000 * bytes) / limits.bytesPerSecond };
}

/**
 * The time at which changes are due by themselves: at once if there are many, never if there are
 * none.
 */
function dueAt(count: number, isMany: boolean, oldAt: number): number {
  if (count === 0) return Number.POSITIVE_INFINITY;
  return isMany ? Number.NEGATIVE_INFINITY : oldAt;
}
