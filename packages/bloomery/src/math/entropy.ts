/**
 * How small a filter becomes on the wire: m·H(p) bits, and how far single filters scatter around
 * that.
 *
 * Mitzenmacher, Compressed Bloom Filters (2002): section II-B for whole filters, IV for deltas, V
 * for counting filters; survey 2.6. An arithmetic coder comes within some bytes of m·H of the
 * *actual* share of zeros (appendix). So the size of a message is the function m·H(Z/m) of the
 * random number of zeros Z, and its standard deviation is |H'(p)|·sd(Z) = |log2((1-p)/p)|·sd(Z).
 * With the paper's parameters (m = 140,000, k = 2, n = 10,000) that gives 11.3 bytes where its
 * 100,000 simulated filters showed 11.375.
 *
 * Not counted: frame headers, and the coder's own overhead (16 bytes for the paper's adaptive coder
 * on that filter; a few for a coder that is told the number of ones). Where it breaks down: at p =
 * 1/2 the first derivative vanishes and the deviation is computed as 0. That is nearly true: sizes
 * differ by a bit or two there, and are always below m.
 *
 * All functions use the asymptotic p = e^(-kn/m), as the tables do.
 */

import { checkInteger, checkNumber } from './checks.ts';
import { normalProbability, normalQuantile } from './normal.ts';
import { occupancyVariance, zeroCovariance } from './occupancy.ts';

/** H(p) = -p·log2 p - (1-p)·log2(1-p), with H(0) = H(1) = 0. */
export function binaryEntropy(p: number): number {
  checkNumber('p', p, 0, 1);
  if (p === 0 || p === 1) return 0;
  // Callers with p near 1 should pass 1-p: H is symmetric, and the small side keeps its digits.
  return -(p * Math.log(p) + (1 - p) * Math.log1p(-p)) * Math.LOG2E;
}

/** z = m·H(p): expected bits of a filter sent through an ideal coder. Compressed II-B. */
export function compressedBits(m: number, k: number, n: number): number {
  return m * binaryEntropy(onesDensity(m, k, n));
}

/**
 * q = 2p(1-p^c): share of bits that change when a fraction c of the keys is replaced. Compressed
 * IV.
 */
export function deltaDensity(p: number, c: number): number {
  checkNumber('p', p, 0, 1);
  checkNumber('c', c, 0, 1);
  return p === 0 || p === 1 ? 0 : -2 * p * Math.expm1(c * Math.log(p));
}

/** z = m·H(q): expected bits of a delta. Compressed IV. */
export function deltaBits(m: number, k: number, n: number, c: number): number {
  return m * binaryEntropy(changedDensity(m, k, n, c));
}

/** Standard deviation of the compressed size in bits, |H'(p)|·sd(Z). */
export function compressedBitsDeviation(m: number, k: number, n: number): number {
  const ones = onesDensity(m, k, n);
  return entropySlope(ones) * Math.sqrt(occupancyVariance(checkInteger('m', m, 1), k * n));
}

/**
 * Standard deviation of a delta's compressed size in bits. The number of changed bits is Z_old +
 * Z_new - 2·Z_both, where Z_both is the number of zeros of the two filters' OR. So its variance
 * follows from the covariances of zeros (occupancy.ts).
 */
export function deltaBitsDeviation(m: number, k: number, n: number, c: number): number {
  const density = changedDensity(m, k, n, c);
  checkInteger('m', m, 1);
  const [kept, changed, all] = [k * n * (1 - c), k * n * c, k * n];
  const variance =
    2 * occupancyVariance(m, all) +
    4 * occupancyVariance(m, all + changed) +
    2 * zeroCovariance(m, kept, 2 * changed) -
    8 * zeroCovariance(m, all, changed);
  return entropySlope(density) * Math.sqrt(Math.max(0, variance));
}

/** Probability that a compressed filter takes at most `bytes` bytes, headers not counted. */
export function fitProbability(m: number, k: number, n: number, bytes: number): number {
  return fits(compressedBits(m, k, n), compressedBitsDeviation(m, k, n), bytes);
}

/** Probability that a compressed delta takes at most `bytes` bytes, headers not counted. */
export function deltaFitProbability(m: number, k: number, n: number, c: number, bytes: number): number {
  return fits(deltaBits(m, k, n, c), deltaBitsDeviation(m, k, n, c), bytes);
}

/**
 * The size in bits that a message with this mean and deviation does not exceed with the given
 * probability.
 */
export function bitsAtConfidence(mean: number, deviation: number, probability: number): number {
  return mean + deviation * normalQuantile(probability);
}

/**
 * Entropy in bits of one counter of a counting filter: counts are Poisson with mean kn/m.
 * Compressed V.
 */
export function counterEntropy(m: number, k: number, n: number): number {
  const mean = load(m, k, n);
  if (mean === 0) return 0;
  // -Σ p_i log2 p_i, from the mode outwards. Poisson weights: ln p_i = -mean + i·ln mean - ln i!.
  const mode = Math.floor(mean);
  let logMode = -mean;
  for (let i = 1; i <= mode; i++) logMode += Math.log(mean / i);
  let sum = 0;
  for (let i = mode, log = logMode; log > -60 || i <= mean; i++, log += Math.log(mean / i))
    sum -= Math.exp(log) * log;
  for (let i = mode, log = logMode; i > 0 && log > -60; i--) {
    log -= Math.log(mean / i);
    sum -= Math.exp(log) * log;
  }
  return sum * Math.LOG2E;
}

/** kn/m, checked. */
function load(m: number, k: number, n: number): number {
  checkNumber('m', m, 1);
  checkNumber('k', k, Number.MIN_VALUE);
  checkNumber('n', n);
  return (k * n) / m;
}

/**
 * 1 - p, or p itself if that is smaller: the side whose entropy can be computed without
 * cancellation.
 */
function onesDensity(m: number, k: number, n: number): number {
  const x = load(m, k, n);
  return x < Math.LN2 ? -Math.expm1(-x) : Math.exp(-x);
}

function changedDensity(m: number, k: number, n: number, c: number): number {
  checkNumber('c', c, 0, 1);
  const x = load(m, k, n);
  return -2 * Math.exp(-x) * Math.expm1(-c * x);
}

/** |H'(x)| = |log2((1-x)/x)|. */
function entropySlope(x: number): number {
  return x === 0 || x === 1 ? 0 : Math.abs(Math.log2((1 - x) / x));
}

function fits(mean: number, deviation: number, bytes: number): number {
  checkNumber('bytes', bytes);
  if (deviation === 0) return 8 * bytes >= mean ? 1 : 0;
  return normalProbability((8 * bytes - mean) / deviation);
}
