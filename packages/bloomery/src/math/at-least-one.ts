/**
 * The probability that at least one of several independent trials succeeds, such as that one of the
 * filters of a chain says "maybe" to a key that is in none of them: 1 - Π(1 - p).
 *
 * All three go through logarithms (log1p, expm1). The plain form subtracts from 1 twice, and for p
 * = 1e-12 it keeps four digits.
 */

/**
 * 1 - (1-p)^n: the probability that one of `n` trials succeeds, each with probability `p`. A single
 * trial gives `p` itself, without the rounding of the logarithm.
 */
export function atLeastOne(p: number, n: number): number {
  return n === 1 ? p : 0 - Math.expm1(n * Math.log1p(-p));
}

/**
 * 1 - Π(1-p): the same for trials with a probability each. For filters of unrelated keys it is
 * exact. In filters that share keys the false positives coincide, and the rate of the chain is
 * lower than this.
 */
export function atLeastOneOf(probabilities: readonly number[]): number {
  return 0 - Math.expm1(probabilities.reduce((sum, p) => sum + Math.log1p(-p), 0));
}

/** 1 - (1-p)^(1/n): the probability of each of `n` trials for which `atLeastOne` is `p`. */
export function eachOfAtLeastOne(p: number, n: number): number {
  return 0 - Math.expm1(Math.log1p(-p) / n);
}
