/**
 * Sizes with confidence intervals, from the ones of one or two filters (survey 2.4). They are
 * functions and not methods, so that a program that only adds and looks up does not carry the
 * statistics. The methods `estimatedSize`, `estimatedUnionSize` and `estimatedIntersectionSize`
 * give the bare values.
 */

import { checkOptions } from '../../keys/check-options.ts';
import {
  type Estimate,
  estimateIntersectionSize,
  estimateJaccard,
  estimateSize,
  estimateUnionSize,
  type FilterLayout,
} from '../../math/estimates/estimators.ts';
import { estimateSemiJoin, type SemiJoin } from '../../math/estimates/join-size.ts';

export interface EstimateOptions {
  /** The probability that the interval from `low` to `high` holds the true value. Default 0.95. */
  readonly confidence?: number;
}

/** A filter whose ones can be counted: `BloomFilter`, `BlockedBloomFilter`. */
export interface Countable {
  readonly bits: number;
  readonly hashes: number;
  readonly layout: FilterLayout;
  onesCount(): number;
}

/** A filter whose shared ones with another of its kind can be counted. Unlike filters throw. */
export interface Comparable<F> extends Countable {
  sharedOnesCount(other: F): number;
}

/** Estimates how many distinct keys a filter holds. */
export function sizeEstimate(filter: Countable, options: EstimateOptions = {}): Estimate {
  return estimateSize({ ...shape(filter), ...checked('sizeEstimate', options), ones: filter.onesCount() });
}

/** Estimates how many distinct keys the union of two filters holds. */
export function unionEstimate<F extends Comparable<F>>(a: F, b: F, options: EstimateOptions = {}): Estimate {
  return estimateUnionSize({ ...counts(a, b), ...checked('unionEstimate', options) });
}

/**
 * Estimates how many keys two filters have in common. It is unbiased, so for disjoint sets noise
 * can make it slightly negative.
 */
export function intersectionEstimate<F extends Comparable<F>>(
  a: F,
  b: F,
  options: EstimateOptions = {},
): Estimate {
  return estimateIntersectionSize({ ...counts(a, b), ...checked('intersectionEstimate', options) });
}

/** Estimates the Jaccard index: the share of common keys among all keys of the two. */
export function jaccardEstimate<F extends Comparable<F>>(
  a: F,
  b: F,
  options: EstimateOptions = {},
): Estimate {
  return estimateJaccard({ ...counts(a, b), ...checked('jaccardEstimate', options) });
}

/**
 * Estimates how many of the `size` keys of `a` a semi-join with `b` keeps, and how many pass b's
 * filter, including false positives. The node that has the keys of `a` knows `size`.
 */
export function semiJoinEstimate<F extends Comparable<F>>(
  a: F,
  b: F,
  options: EstimateOptions & { readonly size: number },
): SemiJoin {
  const { size, ...rest } = options;
  return estimateSemiJoin({ ...counts(a, b), ...rest, size1: size });
}

function shape({ bits, hashes, layout }: Countable) {
  return { bits, hashes, layout };
}

function counts<F extends Comparable<F>>(a: F, b: F) {
  return { ...shape(a), ones1: a.onesCount(), ones2: b.onesCount(), onesAnd: a.sharedOnesCount(b) };
}

/** @internal The options, if none of them is unknown. */
export function checked(where: string, options: EstimateOptions): EstimateOptions {
  checkOptions(where, options, ['confidence']);
  return options;
}
