/**
 * Estimates how many keys a filter holds from its ones, and whether that is more than it was made
 * for.
 */

import { type Estimate, sizeEstimate } from 'bloomery';

export type SizeEstimate = Pick<Estimate, 'value'> &
  Partial<Pick<Estimate, 'low' | 'high' | 'standardError'>>;

/** The estimate from the ones. */
export function describeSize(filter: Parameters<typeof sizeEstimate>[0]): SizeEstimate {
  const { value, low, high, standardError } = sizeEstimate(filter);
  return { value, low, high, standardError };
}

/**
 * Whether the filter holds more keys than its capacity, by five standard deviations, so that a
 * filter filled exactly to capacity does not count.
 */
export function isOverfull(
  { value, standardError = 0 }: SizeEstimate,
  capacity: number | undefined,
): boolean | undefined {
  if (capacity === undefined) return undefined;
  return value === Number.POSITIVE_INFINITY || value - 5 * standardError > capacity;
}
