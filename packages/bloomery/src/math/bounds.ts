/**
 * Bounds that no filter can beat, and tail bounds: least space, concentration, counter overflow.
 *
 * - Space. Any representation of n keys with false positive rate ε needs n·log2(1/ε) bits (survey
 *   2.2). A Bloom filter takes log2 e = 1.44 times that. A perfect hash function with fingerprints
 *   of j bits takes n·j, plus the function.
 * - Concentration. The survey (2.1) prints 2e^(-2ε²m²/nk) for the probability that the share of
 *   zeros is off by ε; the paper on compression (appendix, theorem 1) prints the weaker
 *   2e^(-ε²m²/2nk). Both hold: a Doob martingale over the nk settings changes by at most 1 per
 *   step, and Azuma's inequality gives the second; each step's change lies in an interval of length
 *   1, and Hoeffding's form gives the first. Say which one you quote; they differ by a power of 4.
 *   Both are far from tight: the variance (occupancy.ts) gives a much better idea at usual sizes.
 * - Counters of a counting filter. Each is binomial (survey 2.5), so the exact tail is as easy to
 *   compute as the bounds.
 */

import { checkInteger, checkNumber, checkRate } from './checks.ts';

/** log2 e: a Bloom filter's bits over the lower bound n·log2(1/ε). Survey 2.2: 1.44. */
export const BLOOM_OVERHEAD = Math.LOG2E;

/**
 * n·log2(1/ε) bits: the fewest that any structure with false positive rate ε can use, in a large
 * universe. Survey 2.2.
 */
export function lowerBoundBits(n: number, epsilon: number): number {
  checkNumber('n', n);
  checkRate('epsilon', epsilon);
  return -n * Math.log2(epsilon);
}

/**
 * log2 [ C(u,n) / C(n+ε(u-n), n) ]: the same for a universe of u keys, before the approximation.
 * Survey 2.2.
 */
export function lowerBoundBitsInUniverse(n: number, epsilon: number, u: number): number {
  checkInteger('n', n);
  checkRate('epsilon', epsilon);
  checkNumber('u', u, Math.max(1, n));
  // C(u,n)/C(a,n) is the product over i < n of (u-i)/(a-i): no factorial, nothing to cancel.
  const accepted = n + epsilon * (u - n);
  return (logFalling(u, n) - logFalling(accepted, n) + n * Math.log(u / accepted)) * Math.LOG2E;
}

/**
 * Bits of n fingerprints that a perfect hash function addresses: n·⌈log2(1/ε)⌉, not counting the
 * function. Survey 2.2.
 */
export function fingerprintBits(n: number, epsilon: number): number {
  checkNumber('n', n);
  checkRate('epsilon', epsilon);
  return n * Math.ceil(-Math.log2(epsilon));
}

/**
 * Bound on P(|zeros/m - p'| > ε): 2e^(-2ε²m²/nk), as in survey 2.1. A value above 1 says nothing.
 */
export function zeroFractionTailSurvey(m: number, k: number, n: number, epsilon: number): number {
  return tailBound(m, k, n, epsilon, 2);
}

/** The same bound as proved in the paper on compression, appendix, theorem 1: 2e^(-ε²m²/2nk). */
export function zeroFractionTailCompressed(m: number, k: number, n: number, epsilon: number): number {
  return tailBound(m, k, n, epsilon, 0.5);
}

/** P(a given counter is at least j) after n keys: the exact binomial tail. Survey 2.5. */
export function counterProbability(m: number, k: number, n: number, j: number): number {
  const settings = checkCounters(m, k, n, j);
  // Beyond the mean the terms fall. A tail that begins below the mean is one minus the few terms
  // before it.
  if (j === 0) return 1;
  if (j <= settings / m) {
    let below = 0;
    for (let i = 0; i < j; i++) below += term(m, settings, i);
    return Math.max(0, 1 - below);
  }
  let last = term(m, settings, j);
  let sum = last;
  for (let i = j; i < settings && last > 1e-18 * sum; i++) {
    last *= (settings - i) / ((i + 1) * (m - 1));
    sum += last;
  }
  return sum;
}

/** P(a given counter is exactly j): C(nk,j)(1/m)^j(1-1/m)^(nk-j). Survey 2.5. */
export function counterExactProbability(m: number, k: number, n: number, j: number): number {
  return term(m, checkCounters(m, k, n, j), j);
}

/** Union bound on P(some counter reaches j): m·(enk/(jm))^j. Survey 2.5. May exceed 1. */
export function counterOverflowBound(m: number, k: number, n: number, j: number): number {
  const settings = checkCounters(m, k, n, j);
  checkInteger('j', j, 1);
  return m * Math.exp(j * (1 + Math.log(settings / (j * m))));
}

/**
 * The same with k at most ln2·m/n: m·(e·ln2/j)^j, for 4-bit counters (j = 16) 1.37e-15·m. Survey
 * 2.5.
 */
export function counterOverflowBoundOptimal(m: number, j: number): number {
  checkInteger('m', m, 1);
  checkInteger('j', j, 1);
  return m * ((Math.E * Math.LN2) / j) ** j;
}

function tailBound(m: number, k: number, n: number, epsilon: number, factor: number): number {
  checkNumber('m', m, 1);
  checkNumber('k', k, 1);
  checkNumber('n', n, Number.MIN_VALUE);
  checkNumber('epsilon', epsilon);
  return 2 * Math.exp((-factor * (epsilon * m) ** 2) / (n * k));
}

function checkCounters(m: number, k: number, n: number, j: number): number {
  checkInteger('m', m, 2);
  checkInteger('k', k, 1);
  checkInteger('n', n);
  checkInteger('j', j);
  return k * n;
}

/** C(N,j) (1/m)^j (1-1/m)^(N-j), factor by factor in logarithms. */
function term(m: number, settings: number, j: number): number {
  if (j > settings) return 0;
  let log = (settings - j) * Math.log1p(-1 / m);
  for (let i = 0; i < j; i++) log += Math.log((settings - i) / ((i + 1) * m));
  return Math.exp(log);
}

/**
 * ln[ x(x-1)…(x-n+1) / x^n ] = Σ ln(1 - i/x). The last thousand factors are summed. Before them the
 * sum is replaced by the midpoint integral, whose error, 1/24 of the change of the slope, is below
 * 5e-5 there.
 */
function logFalling(x: number, n: number): number {
  const smooth = Math.max(0, n - 1000);
  let sum = 0;
  for (let i = smooth; i < n; i++) sum += Math.log1p(-i / x);
  if (smooth === 0) return sum;
  // ∫ ln(1-y/x) dy = -x·[(1-t)ln(1-t) + t], t = y/x, from -1/2 to smooth - 1/2.
  const primitive = (t: number) => (1 - t) * Math.log1p(-t) + t;
  return sum - x * (primitive((smooth - 0.5) / x) - primitive(-0.5 / x));
}
