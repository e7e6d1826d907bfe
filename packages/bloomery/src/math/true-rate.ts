/**
 * The rate that a classic filter really has: E[(X/m)^k], X the number of ones after kn random
 * settings of m bits.
 *
 * The survey's f' = (E[X]/m)^k is not the probability of a false positive but a lower bound on it
 * (Bose et al., On the false-positive rate of Bloom filters, IPL 2008; Christensen, Roginsky,
 * Jimeno, A new analysis of the false positive rate of a Bloom filter, IPL 2010), because x^k is
 * convex. At a million bits the difference cannot be measured. But a filter for one key with k = 2
 * in 2 bits has 5/8 where f' says 9/16. Promising a rate to users of small filters means computing
 * this one.
 *
 * Three ranges:
 * - The expansion. With μ = E X, s₂ = Var X/μ², s₃ = (third central moment)/μ³, taking the
 *   logarithm of Σ C(k,j) E[(X/μ-1)^j] and keeping all terms of order 1/m and 1/m² gives
 *
 *       ln E[(X/μ)^k] = k(k-1)/2·s₂ + k(k-1)(k-2)/6·s₃ - k(k-1)(2k-3)/4·s₂²,
 *
 *   used as soon as the terms left out are below 1e-6. That is the case from some fifty keys on.
 * - The exact rate (`coverProbes`) for everything smaller, as long as tn or t² is below 4 million.
 * - The expansion again where that would be too slow: k in the hundreds, where the relative error
 *   grows like k⁴/m³.
 * The result is within a relative 1e-6 of the exact rational number for k <= 40 at all sizes, and
 * within 2e-5 at k = 64; the tests compare with exact arithmetic.
 */

import { checkInteger } from './checks.ts';
import { coverProbes, uncoveredProbes } from './covered-probes.ts';
import { rateFromOnes } from './from-ones.ts';
import { occupancyDistribution } from './occupancy.ts';

/**
 * E[(X/m)^k]: the probability that a non-member key is answered with "maybe", over all filters of n
 * keys.
 */
export function rateTrue(m: number, k: number, n: number): number {
  check(m, k, n);
  return n === 0 ? 0 : uncheckedRateTrue(m, k, n);
}

/**
 * `rateTrue` for at least one key and arguments that are known to be sound, as in a search. A
 * search that only asks on which side of `limit` the rate lies gets the expansion, if the terms
 * left out cannot change the answer: that is 50 times as fast for 32 keys at 1e-15.
 */
export function uncheckedRateTrue(m: number, k: number, n: number, limit?: number): number {
  const moments = momentsOf(m, k * n);
  const expansion = Math.exp(k * Math.log(moments[0] / m) + logGain(k, moments));
  const neglected = neglectedTerms(k, moments);
  if (!isExactWorthwhile(m, k * n, neglected)) return expansion;
  if (limit !== undefined && neglected < 0.01 && Math.abs(Math.log(expansion / limit)) > 4 * neglected)
    return expansion;
  return coverProbes(uncoveredProbes(m, k), m, k * n);
}

/**
 * Var (X/m)^k: how far the rates of single filters scatter around `rateTrue`. The measured rate of
 * one tiny filter differs from the mean by this and by the sampling error of the measurement.
 */
export function rateTrueVariance(m: number, k: number, n: number): number {
  check(m, k, n);
  if (n === 0) return 0;
  const t = k * n;
  const moments = momentsOf(m, t);
  if (!isExactWorthwhile(m, t, neglectedTerms(2 * k, moments))) {
    // E[R²]/E[R]² - 1, where the leading term (μ/m)^(2k) cancels before it is ever computed.
    const logSpread = logGain(2 * k, moments) - 2 * logGain(k, moments);
    return Math.exp(2 * (k * Math.log(moments[0] / m) + logGain(k, moments))) * Math.expm1(logSpread);
  }
  const chance = occupancyDistribution(m, t);
  const mean = exactMoment(chance, m, k);
  let variance = 0;
  for (let x = 0; x < chance.length; x++) variance += chance[x]! * (rateFromOnes(m, x, k) - mean) ** 2;
  return variance;
}

/** The most steps of the distribution of X that are still quick (some milliseconds). */
const EXACT_STEPS = 4e6;

/** Size of the neglected terms below which the expansion is used. */
const NEGLIGIBLE = 1e-6;

/** The mean of X, Var X / mean², and the third central moment / mean³. */
type Moments = readonly [mean: number, second: number, third: number];

function momentsOf(m: number, t: number): Moments {
  const mean = -m * Math.expm1(t * Math.log1p(-1 / m));
  // Third cumulant of the zeros to leading order in m. It follows from the saddle point of
  // [z^t] (e^z + e^θ - 1)^m: factorial cumulants p, -(1+λ)p², (2+4λ+3λ²)p³ per bin, with p = e^-λ,
  // λ = t/m.
  const load = t / m;
  const p = Math.exp(-load);
  const zeros = m * p * (1 - p * (3 * (1 + load) - p * (2 + load * (4 + 3 * load))));
  return [mean, onesVariance(m, t) / mean ** 2, -zeros / mean ** 3];
}

/**
 * Var X, precise enough for a correction that is itself of order 1/m. `occupancyVariance` is
 * precise everywhere, but this file is part of every bundle that can create a filter, and the
 * textbook formula is shorter. Its cancellation costs a relative 1e-9 at a million bits; beyond
 * that the leading term is as good.
 */
function onesVariance(m: number, t: number): number {
  if (m === 1) return 0;
  const load = t / m;
  if (m > 1e6) return m * Math.exp(-load) * (1 - (1 + load) * Math.exp(-load));
  const zeros = m * Math.exp(t * Math.log1p(-1 / m));
  return m * (m - 1) * Math.exp(t * Math.log1p(-2 / m)) + zeros - zeros * zeros;
}

/**
 * Size of the terms that the expansion leaves out of ln E[(X/μ)^k]. Below 0.01 the error of the
 * expansion was at most this large wherever the test compares it with the exact rate.
 */
function neglectedTerms(k: number, [mean, second, third]: Moments): number {
  return k ** 4 * (second ** 3 + Math.abs(third) / (24 * mean));
}

function isExactWorthwhile(m: number, t: number, neglected: number): boolean {
  return neglected > NEGLIGIBLE && t * Math.min(m, t) <= EXACT_STEPS;
}

/** ln E[(X/μ)^k] up to terms of order 1/m². */
function logGain(k: number, [, second, third]: Moments): number {
  return k * (k - 1) * (second / 2 + ((k - 2) / 6) * third - ((2 * k - 3) / 4) * second ** 2);
}

function exactMoment(chance: Float64Array, m: number, k: number): number {
  let sum = 0;
  for (let x = 1; x < chance.length; x++) sum += chance[x]! * rateFromOnes(m, x, k);
  return sum;
}

function check(m: number, k: number, n: number): void {
  checkInteger('m', m, 1);
  checkInteger('k', k, 1);
  checkInteger('n', n);
}
