/**
 * The size of a join before any row is sent: intersections of sets of known size, and semi-joins.
 *
 * The owner of S₁ knows |S₁|, perhaps also |S₂| (tables carry counts), and has both filters. Survey
 * 2.4 then solves the expected inner product for |S₁∩S₂|. There is a better estimate, because a
 * known size does not make the counted zeros useless. The deviation of ln Z₁ from its known mean
 * also tells how ln Z∪ deviates, since they share balls. With the relative covariances V of
 * occupancy.ts the best linear combination (control variates) is
 *
 *     n∩ = n₁ + n₂ - n̂∪ + w₁(n̂₁ - n₁) + w₂(n̂₂ - n₂),   w = C⁻¹c,   C = (V₁ V₁₂; V₁₂ V₂),   c = (V₁, V₂),
 *
 * where a hat marks sizes estimated from zeros. For disjoint sets w = (1, 1): the sizes cancel out
 * and the survey's three-count formula is already the best. The more keys the sets share, the more
 * it helps to know their sizes. If only n₁ is known, the second term is estimated fully (weight 1)
 * and w₁ = 1 - V₁₂/V₁.
 *
 * A semi-join sends the filter of S₂ to the owner of S₁, which sends back the keys that pass: all
 * matches, and the false positives among the others, at the rate (ones₂/m)^k of this particular
 * filter.
 */

import { checkNumber } from '../checks.ts';
import {
  type Estimate,
  estimateIntersectionSize,
  interval,
  sizesOf,
  type TwoFilterCounts,
  variances,
  zeroModel,
} from './estimators.ts';

export interface JoinCounts extends TwoFilterCounts {
  /** |S₁|, which must be known. */
  readonly size1: number;
  /** |S₂|, if it is known as well. */
  readonly size2?: number | undefined;
}

export interface SemiJoin {
  /** Keys of S₁ that occur in S₂. */
  readonly matches: Estimate;
  /** Keys of S₁ expected to pass the filter of S₂: the matches and the false positives. */
  readonly passing: number;
}

/** |S₁∩S₂| if |S₁|, or both sizes, are known. NaN with bounds if a filter has no zeros. */
export function estimateJoinSize(counts: JoinCounts): Estimate {
  const model = zeroModel(counts);
  const { size1, size2, confidence } = counts;
  checkNumber('size1', size1);
  if (size2 !== undefined) checkNumber('size2', size2);
  const sizes = sizesOf(model, counts);
  if (!sizes) return estimateIntersectionSize(counts);
  const { n1, n2, union } = sizes;
  const second = size2 ?? n2;
  // The covariances need n∩ itself. We use the three-count estimate, cut to the range that the
  // known sizes allow.
  const rough = Math.min(size1, second, Math.max(0, n1 + n2 - union));
  const [v1, v2, v12] = variances(model, size1, second, rough, union);
  const [w1, w2] = size2 === undefined ? [v1 > 0 ? 1 - v12 / v1 : 0, 1] : weights(v1, v2, v12);
  const value = size1 + second - union + w1 * (n1 - size1) + w2 * (n2 - second);
  // Var(w₁l₁ + w₂l₂ - l∪), with Cov(l∪, l₁) = V₁ and Cov(l∪, l₂) = V₂, if the sets share `shared`
  // keys.
  const varianceAt = (shared: number) => {
    const [, , common, vUnion] = variances(model, size1, second, shared, size1 + second - shared);
    return vUnion + w1 * w1 * v1 + w2 * w2 * v2 + 2 * w1 * w2 * common - 2 * (w1 * v1 + w2 * v2);
  };
  // For nested sets the variance is 0 at the estimate and nowhere else, so we take its largest
  // value within the uncertainty of n∩.
  const doubt = estimateIntersectionSize(counts).standardError;
  const candidates = [rough, Math.max(0, rough - doubt), Math.min(size1, second, rough + doubt)];
  const variance = Math.max(0, ...candidates.map(varianceAt));
  return interval(value, Math.sqrt(variance) / model.decay, confidence);
}

/** Estimates how many keys a semi-join will match and how many it will send. */
export function estimateSemiJoin(counts: JoinCounts): SemiJoin {
  const matches = estimateJoinSize(counts);
  const rate = (counts.ones2 / counts.bits) ** counts.hashes;
  return { matches, passing: matches.value + rate * (counts.size1 - matches.value) };
}

/** C⁻¹c. Equal sets make C singular; then half of each deviation is the best. */
function weights(v1: number, v2: number, v12: number): [w1: number, w2: number] {
  const determinant = v1 * v2 - v12 * v12;
  if (!(determinant > 1e-9 * v1 * v2)) return [0.5, 0.5];
  return [(v2 * (v1 - v12)) / determinant, (v1 * (v2 - v12)) / determinant];
}
