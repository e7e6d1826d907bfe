/**
 * The probability that stochastic fair Blue punishes a flow that responds, beside M that do not:
 * the flow meets one of them in each of its bins (survey 7.2: "a false positive can occur in this
 * situation if a well-behaved flow happens to hash into k counters that are also hashed into by
 * non-responsive flows").
 */

import { rateTrue } from 'bloomery/math';

/**
 * L levels of N bins, a bin of each level: (1 - (1 - 1/N)^M)^L. Exact, because levels are
 * independent.
 */
export function levelsMisclassified(L: number, N: number, M: number): number {
  return (-Math.expm1(M * Math.log1p(-1 / N))) ** L;
}

/**
 * k counters out of m: the false positive rate of a Bloom filter of M keys, without the
 * approximation that counters fill independently of each other.
 */
export function filterMisclassified(m: number, k: number, M: number): number {
  return rateTrue(m, k, M);
}
