/** How many keys a filter holds by its ones, and whether that is more than it was made for. */

import { type Estimate, sizeEstimate } from 'bloomery';

export type SizeEstimate = Pick<Estimate, 'value'> &
  Partial<Pick<Estimate, 'low' | 'high' | 'standardError'>>;

/** The estimate by the ones, if the filter is not full. */
export function describeSize(filter: Parameters<typeof sizeEstimate>[0]): SizeEstimate {
  const { value, low, high, standardError } = sizeEstimate(filter);
  return { value, low, high, standardError };
}

/** Whether it certainly holds more than its capacity: five standard deviations, so one filled exactly never is. */
export function isOverfull(
  { value, standardError = 0 }: SizeEstimate,
  capacity: number | undefined,
): boolean | undefined {
  if (capacity === undefined) return undefined;
  return value === Number.POSITIVE_INFINITY || value - 5 * standardError > capacity;
}
