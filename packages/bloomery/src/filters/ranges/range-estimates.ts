/**
 * Counts of ranges and quantiles with their intervals. They are functions and not methods, like the
 * other estimates, for the reason given in estimates.ts.
 */

import { rangeErrorBound } from '../../math/sketches/range-sketch.ts';
import type { CountInterval } from '../count-min/count-min-estimate.ts';
import { checked, type EstimateOptions } from '../shared/estimates.ts';
import type { RangeSketch } from './range-sketch.ts';

/**
 * Estimates how many keys lie from `from` to `to`, both included. `value` is the count, which is
 * also `high`, because no count is below the truth. `low` holds with the probability `confidence`
 * (default 0.95). It follows from the number of intervals that this range is made of, so it is
 * often nearer than epsilon·N.
 */
export function rangeEstimate(
  sketch: RangeSketch,
  from: number,
  to: number,
  options: EstimateOptions = {},
): CountInterval {
  const { confidence = 0.95 } = checked('rangeEstimate', options);
  const value = sketch.count(from, to);
  const error = rangeErrorBound(sketch, sketch.estimatesIn(from, to), sketch.total, confidence);
  return { value, low: Math.max(0, Math.ceil(value - error)), high: value };
}

export interface QuantileInterval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Estimates a quantile. `value` is `sketch.quantile(share)`, which is also `low`, because it is
 * never above the truth. `high` is not below it with the probability `confidence` (default 0.95).
 * Undefined if nothing was added.
 */
export function quantileEstimate(
  sketch: RangeSketch,
  share: number,
  options: EstimateOptions = {},
): QuantileInterval | undefined {
  const { confidence = 0.95 } = checked('quantileEstimate', options);
  const value = sketch.quantile(share);
  if (value === undefined) return undefined;
  const { total, universeBits, exactBits } = sketch;
  const rank = Math.max(1, Math.ceil(share * total));
  const error = rangeErrorBound(sketch, universeBits - exactBits, total, confidence);
  // The key at this rank has at least `rank` keys up to it, unless its excess is above the error.
  const above = rank + Math.ceil(error);
  const { keyLimit } = sketch;
  return { value, low: value, high: above > total ? keyLimit : Math.min(keyLimit, sketch.keyAtRank(above)) };
}
