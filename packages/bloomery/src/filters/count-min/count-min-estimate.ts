/**
 * A count with its interval. A function and not a method, like the other estimates: estimates.ts says why.
 */

import type { Key } from '../../keys/key.ts';
import { countMinErrorBound } from '../../math/count-min.ts';
import type { EstimateOptions } from '../shared/estimates.ts';
import type { CountMinSketch } from './count-min-sketch.ts';

export interface CountInterval {
  readonly value: number;
  readonly low: number;
  /** Infinity if the counters are saturated. */
  readonly high: number;
}

/**
 * How often a key was added. `value` is `sketch.count(key)`, which is also `high`: no count is below the truth. `low`
 * holds with the probability `confidence` (0.95 unless told), for both ways to update; with 1 - delta it is
 * epsilon·N below. It is a guarantee for any stream, by Markov's inequality; the error is usually much smaller.
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
