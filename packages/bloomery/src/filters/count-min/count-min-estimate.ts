/**
 * A count with its interval. It is a function and not a method, like the other estimates, for the
 * reason given in estimates.ts.
 */

import type { Key } from '../../keys/key.ts';
import { countMinErrorBound } from '../../math/sketches/count-min.ts';
import type { EstimateOptions } from '../shared/estimates.ts';
import type { CountMinSketch } from './count-min-sketch.ts';

export interface CountInterval {
  readonly value: number;
  readonly low: number;
  /** Infinity if the counters are saturated. */
  readonly high: number;
}

/**
 * Estimates how often a key was added. `value` is `sketch.count(key)`, which is also `high`,
 * because no count is below the truth. `low` holds with the probability `confidence` (default
 * 0.95), for both ways to update; with a confidence of 1 - delta it is epsilon·N below. This is a
 * guarantee for any stream, by Markov's inequality. The error is usually much smaller.
 */
export function countEstimate(
  sketch: CountMinSketch,
  key: Key,
  options: EstimateOptions = {},
): CountInterval {
  const { confidence = 0.95 } = options;
  const value = sketch.count(key);
  const low = Math.max(0, Math.ceil(value - countMinErrorBound(sketch, sketch.total, confidence)));
  return { value, low, high: value === sketch.maximum ? Number.POSITIVE_INFINITY : value };
}
