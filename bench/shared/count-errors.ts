/** Estimated counts beside the true ones. */

import type { CountErrors } from './results.ts';

/**
 * Count-Min sketches: estimates are at most 0.01 % of the stream too high, for 999 keys in 1000.
 */
export const EPSILON = 0.0001;
export const DELTA = 0.001;

/**
 * Counts end at `maxCount`. `limit` is by how much an estimate may be too high before it counts as
 * `beyond`.
 */
export function countErrors(
  stream: readonly string[],
  estimate: (keys: readonly string[]) => ArrayLike<number>,
  maxCount: number,
  limit: number,
): CountErrors {
  const truth = new Map<string, number>();
  for (const key of stream) truth.set(key, (truth.get(key) ?? 0) + 1);
  const estimates = estimate([...truth.keys()]);
  let [over, under, beyond, sum, i] = [0, 0, 0, 0, 0];
  for (const times of truth.values()) {
    const excess = estimates[i++] - Math.min(times, maxCount);
    sum += excess;
    if (excess > 0) over++;
    if (excess < 0) under++;
    if (excess > limit) beyond++;
  }
  const keys = truth.size;
  return { keys, over: over / keys, under: under / keys, beyond: beyond / keys, meanError: sum / keys };
}
