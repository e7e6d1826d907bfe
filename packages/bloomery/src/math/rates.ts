/**
 * The textbook rates: how likely a bit is still 0, and how likely the k bits of a non-member key
 * are all 1.
 *
 * Notation of the papers: m bits, k hash functions, n keys, p the probability that a bit is 0, f
 * the false positive rate; a prime marks the version without the approximation (1-1/m)^m = 1/e.
 * Sources: Broder and Mitzenmacher, Network Applications of Bloom Filters: A Survey, section 2.1;
 * Mitzenmacher, Compressed Bloom Filters (2002), section II-A.
 *
 * Where it breaks down: both f and f' put the mean fill into a convex function, so for k >= 2 they
 * lie below the rate that filters really have (Jensen): by 1 % at 500 bits and k = 7, by far more
 * below 100 bits. Sizing uses `rateTrue`. These formulas are here because the papers use them. The
 * partitioned rate needs no such correction: slices are filled independently, so the mean of the
 * product is the product of the means and the formula is exact.
 *
 * All powers go through logarithms (log1p, expm1): 1 - 1/m is not representable near m = 2^37, and
 * raising the rounded value to the power kn = 10^11 would magnify that rounding into the third
 * digit. m, k and n may be real numbers here, since the papers plot f over continuous k and give
 * m/n = 12.6.
 */

import { checkNumber } from './checks.ts';

/** p' = (1 - 1/m)^(kn): the probability that a given bit is still 0. Survey 2.1. */
export function zeroProbabilityExact(m: number, k: number, n: number): number {
  check(m, k, n);
  return Math.exp(-exactLoad(m, k, n));
}

/** p = e^(-kn/m), the approximation of p' within O(1/m). Survey 2.1. */
export function zeroProbability(m: number, k: number, n: number): number {
  check(m, k, n);
  return Math.exp((-k * n) / m);
}

/**
 * (1 - k/m)^n: the probability that a bit is still 0 if each of the k functions owns m/k bits.
 * Survey 2.1.
 */
export function zeroProbabilityPartitioned(m: number, k: number, n: number): number {
  check(m, k, n, k);
  return Math.exp(-partitionedLoad(m, k, n));
}

/**
 * f' = (1 - p')^k: the false positive rate of a filter that has exactly the expected fill. Survey
 * 2.1.
 */
export function rateExact(m: number, k: number, n: number): number {
  check(m, k, n);
  return allOnes(k, exactLoad(m, k, n));
}

/** f = (1 - e^(-kn/m))^k, the rate in all tables of the papers. Survey 2.1; compressed II-A. */
export function rateAsymptotic(m: number, k: number, n: number): number {
  check(m, k, n);
  return allOnes(k, (k * n) / m);
}

/**
 * m = -kn / ln(1 - f^(1/k)), the inverse of `rateAsymptotic`: the bits with which f is the rate
 * asked for. Tutorial, equation (3), with its sign corrected.
 */
export function bitsAsymptotic(k: number, n: number, rate: number): number {
  return (-k * n) / Math.log(-Math.expm1(Math.log(rate) / k));
}

/**
 * (1 - (1 - k/m)^n)^k: exact for a partitioned filter, whose slices are independent. Survey 2.1.
 */
export function ratePartitioned(m: number, k: number, n: number): number {
  check(m, k, n, k);
  return uncheckedRatePartitioned(m, k, n);
}

/** `ratePartitioned` for arguments that are known to be sound, as in a search. */
export function uncheckedRatePartitioned(m: number, k: number, n: number): number {
  return allOnes(k, partitionedLoad(m, k, n));
}

/** k = ln 2 · m/n, where half of the bits are 1 and f is least. Survey 2.1. */
export function optimalHashes(m: number, n: number): number {
  check(m, 1, n);
  checkNumber('n', n, Number.MIN_VALUE);
  return (Math.LN2 * m) / n;
}

/**
 * The better of the two integers around ln 2 · m/n, by f'; at least 1. On a tie the smaller one,
 * which hashes less.
 */
export function optimalHashesInteger(m: number, n: number): number {
  const low = Math.max(1, Math.floor(optimalHashes(m, n)));
  return rateExact(m, low + 1, n) < rateExact(m, low, n) ? low + 1 : low;
}

function check(m: number, k: number, n: number, leastBits = 1): void {
  checkNumber('k', k, Number.MIN_VALUE);
  checkNumber('m', m, leastBits);
  checkNumber('n', n);
}

/** -ln p'. The load is tested for 0 first, since with m = 1 the product would be 0 · Infinity. */
function exactLoad(m: number, k: number, n: number): number {
  return n === 0 ? 0 : -k * n * Math.log1p(-1 / m);
}

function partitionedLoad(m: number, k: number, n: number): number {
  return n === 0 ? 0 : -n * Math.log1p(-k / m);
}

/** (1 - e^-load)^k. Two forms of ln(1 - e^-load), each accurate where the other cancels. */
function allOnes(k: number, load: number): number {
  const logOne = load < Math.LN2 ? Math.log(-Math.expm1(-load)) : Math.log1p(-Math.exp(-load));
  return Math.exp(k * logOne);
}
