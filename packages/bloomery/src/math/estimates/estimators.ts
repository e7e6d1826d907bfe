/**
 * How many keys are in a filter, in the union of two, in their intersection: from counted bits,
 * with confidence intervals.
 *
 * Broder and Mitzenmacher, survey 2.4. Z₁, Z₂ are the zeros of two filters of the same m, k and
 * hash functions. The survey's Z₁₂ is the number of zeros of their *inner product* (AND), so Z₁ +
 * Z₂ - Z₁₂ is the number of zeros of the OR, Z∪, and its formula
 *
 *     (1/m)(1-1/m)^(-k|S₁∩S₂|) ≈ (Z₁ + Z₂ - Z₁₂)/(Z₁·Z₂)
 *
 * solved for |S₁∩S₂| is just n₁ + n₂ - n∪, each size estimated from its own zeros. (Using the zeros
 * of the OR for Z₁₂, as some do, is wrong: the right side must be at least 1/m.)
 *
 * Errors. Two zero counts of overlapping ball sets have the relative covariance V(number of shared
 * balls) (occupancy.ts), so for l = ln Z everything needed is one function V:
 *
 *     Var(l₁ + l₂ - l∪) = V(n∪) + 2V(n∩) - V(n₁) - V(n₂).
 *
 * That counting of pairs holds for every layout whose keys are independent, so blocked filters
 * differ only in V (blocked-estimate.ts). Sets of known size, and joins, are in join-size.ts.
 *
 * An intersection is a small difference of large numbers: its error is that of the union. Estimates
 * of it may be negative for nearly disjoint sets, and are returned unchanged; cutting them at 0
 * would bias sums and means.
 */

import { checkChoice, checkInteger, checkNumber, wrongValue } from '../checks.ts';
import { decayOf, sizeFromOnes } from '../from-ones.ts';
import { BLOCKED_LAYOUTS, BLOOM_LAYOUTS } from '../layouts.ts';
import { relativeZeroVariance } from '../occupancy.ts';
import { blockedZeroModel } from './blocked-estimate.ts';
import { type Estimate, estimateFromOnes, twoSidedQuantile, type ZeroModel } from './zero-count.ts';

export type { Estimate } from './zero-count.ts';

export type FilterLayout = 'classic' | 'partitioned' | 'blocked' | 'split-block';

export interface FilterShape {
  readonly bits: number;
  readonly hashes: number;
  readonly layout?: FilterLayout | undefined;
  /** Probability that the interval holds the true value. Default 0.95. */
  readonly confidence?: number | undefined;
}

export interface TwoFilterCounts extends FilterShape {
  /** Ones in the first filter, in the second, and in their bitwise AND. */
  readonly ones1: number;
  readonly ones2: number;
  readonly onesAnd: number;
}

/**
 * n ≈ ln(Z/m)/(k·ln(1-1/m)), survey 2.4. For a filter without zeros value and high are Infinity,
 * and low is finite.
 */
export function estimateSize(counts: FilterShape & { readonly ones: number }): Estimate {
  return estimateFromOnes(zeroModel(counts), counts.ones, counts.confidence);
}

/** |S₁∪S₂| from the ones of the OR, ones1 + ones2 - onesAnd. */
export function estimateUnionSize(counts: TwoFilterCounts): Estimate {
  const model = zeroModel(counts);
  return estimateFromOnes(model, onesOr(counts), counts.confidence);
}

/**
 * |S₁∩S₂| from the three zero counts of survey 2.4. If one of them is 0, only the bounds are known,
 * and value is NaN.
 */
export function estimateIntersectionSize(counts: TwoFilterCounts): Estimate {
  const model = zeroModel(counts);
  const sizes = sizesOf(model, counts);
  if (!sizes) return unknown(counts);
  const { n1, n2, union } = sizes;
  const value = n1 + n2 - union;
  const [v1, v2, v12, vUnion] = variances(model, n1, n2, value, union);
  // V is convex and V(0) = 0, so this is negative only by rounding.
  const variance = Math.max(0, vUnion + 2 * v12 - v1 - v2);
  return interval(value, Math.sqrt(variance) / model.decay, counts.confidence);
}

/** |S₁∩S₂|/|S₁∪S₂|, from the same counts. NaN if a filter is full, or both are empty. */
export function estimateJaccard(counts: TwoFilterCounts): Estimate {
  const model = zeroModel(counts);
  const sizes = sizesOf(model, counts);
  if (!sizes || sizes.union === 0) {
    return { value: Number.NaN, low: 0, high: 1, standardError: Number.POSITIVE_INFINITY };
  }
  const { n1, n2, union } = sizes;
  const value = (n1 + n2 - union) / union;
  const [v1, v2, v12, vUnion] = variances(model, n1, n2, n1 + n2 - union, union);
  // dJ = [dl₁ + dl₂ - (1+J)·dl∪]/l∪.
  const scale = 1 + value;
  const variance = Math.max(0, v1 + v2 + 2 * v12 + scale * scale * vUnion - 2 * scale * (v1 + v2));
  return interval(value, Math.sqrt(variance) / (model.decay * union), counts.confidence);
}

/**
 * Expected number of ones of the AND of two filters: m(1 - a^(kn₁) - a^(kn₂) + a^(k(n₁+n₂-n₁₂))), a
 * = 1-1/m.
 */
export function expectedInnerProduct(m: number, k: number, n1: number, n2: number, n12: number): number {
  const model = zeroModel({ bits: m, hashes: k });
  checkNumber('n1', n1);
  checkNumber('n2', n2);
  checkNumber('n12', n12, 0, Math.min(n1, n2));
  // This is survey 2.4 before simplification: both terms are positive, so nothing cancels.
  const set = (n: number) => -Math.expm1(-model.decay * n);
  return m * (set(n12) + Math.exp(-model.decay * n12) * set(n1 - n12) * set(n2 - n12));
}

/** The model of how the zeros of a filter fall with the number of keys. */
export function zeroModel({ bits, hashes, layout = 'classic' }: FilterShape): ZeroModel {
  checkInteger('bits', bits, 1);
  checkInteger('hashes', hashes, 1);
  if (layout === 'partitioned') {
    if (bits % hashes !== 0) throw wrongValue('bits', `a multiple of hashes (${hashes})`, bits);
    // k independent slices: variances add up, so the relative variance of the sum is that of a
    // slice over k.
    const slice = bits / hashes;
    return {
      bits,
      decay: decayOf(1, 1 / slice),
      relativeVariance: (n) => relativeZeroVariance(slice, n) / hashes,
    };
  }
  if (layout === 'blocked' || layout === 'split-block') return blockedZeroModel({ bits, hashes, layout });
  checkChoice('layout', layout, [...BLOOM_LAYOUTS, ...BLOCKED_LAYOUTS]);
  const decay = decayOf(hashes, 1 / bits);
  return { bits, decay, relativeVariance: (n) => relativeZeroVariance(bits, hashes * n) };
}

/** The three sizes that follow from the zero counts, or undefined if one filter has no zeros. */
export function sizesOf({ bits, decay }: ZeroModel, counts: TwoFilterCounts) {
  const size = (ones: number) => sizeFromOnes(bits, ones, decay);
  const union = size(onesOr(counts));
  return union === Number.POSITIVE_INFINITY
    ? undefined
    : { n1: size(counts.ones1), n2: size(counts.ones2), union };
}

function onesOr({ bits, ones1, ones2, onesAnd }: TwoFilterCounts): number {
  checkInteger('ones1', ones1, 0, bits);
  checkInteger('ones2', ones2, 0, bits);
  checkInteger('onesAnd', onesAnd, Math.max(0, ones1 + ones2 - bits), Math.min(ones1, ones2));
  return ones1 + ones2 - onesAnd;
}

type Four = [v1: number, v2: number, v12: number, vUnion: number];

/** V of the sizes. A negative estimate of the intersection has the variance of an empty one. */
export function variances(model: ZeroModel, n1: number, n2: number, shared: number, union: number): Four {
  return [n1, n2, Math.max(0, shared), union].map((n) => model.relativeVariance(n)) as Four;
}

/** value ± q · standard error. */
export function interval(value: number, standardError: number, confidence = 0.95): Estimate {
  const reach = twoSidedQuantile(confidence) * standardError;
  return { value, low: value - reach, high: value + reach, standardError };
}

function unknown(counts: TwoFilterCounts): Estimate {
  const high1 = estimateSize({ ...counts, ones: counts.ones1 }).high;
  const high2 = estimateSize({ ...counts, ones: counts.ones2 }).high;
  return { value: Number.NaN, low: 0, high: Math.min(high1, high2), standardError: Number.POSITIVE_INFINITY };
}
