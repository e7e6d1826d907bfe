/**
 * The policy that says when changes are merged into a new base: at a size of the log, at a share of
 * the base, or at a time of day, as the tutorial on Bloom filters has it ("periodically, i.e.
 * midnight, or when the differential file grows above a certain threshold").
 */

export interface MergePolicy {
  /** Merge when the log has this many bytes. */
  readonly atBytes?: number | undefined;
  /** Merge when this share of the base's records was changed, such as 0.05. */
  readonly atShare?: number | undefined;
  /** Merge each day at this local time, such as '03:30', if there are changes. */
  readonly atTime?: string | undefined;
}

export interface MergeFacts {
  readonly logBytes: number;
  readonly changedKeys: number;
  /** Records of the base; undefined if they were not counted. */
  readonly baseRecords: number | undefined;
}

/** Whether the size of the log or its share of the base asks for a merge. */
export function isMergeDue({ atBytes, atShare }: MergePolicy, facts: MergeFacts): boolean {
  const { logBytes, changedKeys, baseRecords } = facts;
  if (changedKeys === 0) return false;
  if (atBytes !== undefined && logBytes >= atBytes) return true;
  return atShare !== undefined && baseRecords !== undefined && changedKeys >= atShare * baseRecords;
}

/**
 * Milliseconds from a local time of day to the next `atTime`, at most a day. On a day when the
 * clock is changed it is off by that hour.
 */
export function msUntil(atTime: string, now: { hours: number; minutes: number; ms: number }): number {
  const [, hours, minutes] = /^(\d\d):(\d\d)$/.exec(atTime)!;
  const wanted = (Number(hours) * 60 + Number(minutes)) * MINUTE;
  const left = wanted - (now.hours * 60 + now.minutes) * MINUTE - now.ms;
  return left > 0 ? left : left + DAY;
}

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

/** Throws if a policy has a value that is not allowed. */
export function checkPolicy({ atBytes, atShare, atTime }: MergePolicy): void {
  if (atBytes !== undefined && !(atBytes > 0))
    throw new RangeError(`Cannot merge by itself: expected atBytes above 0, got ${atBytes}`);
  if (atShare !== undefined && !(atShare > 0))
    throw new RangeError(`Cannot merge by itself: expected atShare above 0, got ${atShare}`);
  if (atTime !== undefined && !/^([01]\d|2[0-3]):[0-5]\d$/.test(atTime))
    throw new RangeError(`Cannot merge by itself: expected atTime such as '03:30', got ${atTime}`);
}
