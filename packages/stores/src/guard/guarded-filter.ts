/**
 * The part of a filter that `guard` and `dedupe` use. Every membership structure of the library
 * fits, and so does `RebuiltFilter` of this room.
 */

import type { Key } from 'bloomery';

export interface GuardingFilter {
  /** False means: certainly not in. */
  has(key: Key): boolean;
  /**
   * Adds a key. `guard` needs it only for `add`. The result is ignored, or awaited if it is a
   * promise.
   */
  add?(key: Key): unknown;
  /**
   * Whether the answers of `has` can be used. A filter without a state is always live. In any other
   * state every key counts as "maybe".
   */
  readonly state?: string | undefined;
  /** The rate that the filter promises at most. */
  readonly falsePositiveRate?: number | undefined;
  /** The rate by the filter's present state, if it does not promise one. */
  estimatedFalsePositiveRate?(): number;
}

/** Whether the answers of a filter can be used now. */
export function isLive(filter: GuardingFilter): boolean {
  return filter.state === undefined || filter.state === 'live';
}

/** The rate of false hits to expect, or undefined if the filter does not know it. */
export function expectedRate(filter: GuardingFilter): number | undefined {
  const rate = filter.falsePositiveRate ?? filter.estimatedFalsePositiveRate?.();
  return rate !== undefined && rate >= 0 && rate <= 1 ? rate : undefined;
}
