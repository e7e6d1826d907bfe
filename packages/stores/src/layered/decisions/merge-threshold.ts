/**
 * The number of changed records at which a merge pays, from measured costs.
 *
 * A merge costs M seconds, whatever was changed, because the base is copied. Until then two costs
 * grow with the n changed records of N. Of q reads for each change, the share n/N finds its record
 * in the differential file, for d seconds more than in the base. And each of s starts for each
 * change reads the log again, o seconds for each changed record. A cycle of n changes costs
 *
 *     M + (q·d/N + s·o)·n²/2
 *
 * seconds. Divided by n, that is least at n = √(2·M / (q·d/N + s·o)), the square-root rule of every
 * batch with a fixed cost. Wasted reads are not in it: their rate depends on the bits for each
 * changed record, which a growing filter keeps.
 *
 * Where it breaks down: reads that favour changed records find them more often than n/N.
 */

export interface MergeCosts {
  /** Seconds that a merge takes. */
  readonly mergeSeconds: number;
  /**
   * Seconds that a read of a changed record takes more than one of the base; 0 if it takes less.
   */
  readonly differentialReadSeconds: number;
  readonly readsPerChange: number;
  readonly baseRecords: number;
  /** Seconds that a start takes for each changed record. Default 0. */
  readonly startSecondsPerChange?: number | undefined;
  /** Starts for each change; 0.001 is one start in a thousand changes. Default 0. */
  readonly startsPerChange?: number | undefined;
}

/** Changed records at which a merge costs least in the long run; Infinity if they cost nothing. */
export function recommendedChanges(costs: MergeCosts): number {
  for (const [name, value] of Object.entries(costs)) {
    if (value !== undefined && !(value >= 0))
      throw new RangeError(`Cannot recommend a threshold: expected ${name} of at least 0, got ${value}`);
  }
  const { mergeSeconds, differentialReadSeconds, readsPerChange, baseRecords } = costs;
  const { startSecondsPerChange = 0, startsPerChange = 0 } = costs;
  const reads = baseRecords === 0 ? 0 : (readsPerChange * differentialReadSeconds) / baseRecords;
  const growth = reads + startsPerChange * startSecondsPerChange;
  return growth === 0 ? Number.POSITIVE_INFINITY : Math.sqrt((2 * mergeSeconds) / growth);
}
