/**
 * The number of bytes that the library's exact coder takes on average, derived, so that a
 * measurement can contradict it.
 *
 * The coder (kernel/coders/range-coder.ts) is told the number of ones c of m bits and codes each
 * bit with the probability "ones left / bits left", computed again every 32 bits. Its code has
 *
 *     log2 C(m, c)      bits if the probability were computed for every bit: all arrays with c ones
 *                       are equally likely
 *   + stale             because it is not: within a word the coder pretends that bits are drawn
 *                       with replacement. A word of s bits with c of L left costs s·H(c/L) on average.
 *                       That exceeds what the bits carry by almost nothing far from the end, and by
 *                       0.5 to 2.5 bits in all over the last words
 *   + 1/2 - 1/(8 ln 2)  bytes for the end: an interval of width w = 2^-I contains a number of ⌈I/8⌉
 *                       bytes, and one of a byte less with probability w·256^(⌈I/8⌉-1), and so on.
 *                       With I uniform modulo 8 the mean excess over I/8 is 1/2 less the integral of
 *                       256^(u-1)·(1 + 1/256 + …), u from 0 to 1: 0.3197 bytes.
 *
 * Left out, since all together stay below a hundredth of a bit here: probabilities in 65536ths, the
 * 32-bit range.
 *
 * c itself is random. E log2 C(m, c) is taken to second order around the mean of c, with its exact
 * variance (math/occupancy.ts): the next term is of order 1/m.
 *
 * For comparison, the coder of the paper's appendix: adaptive, both counters starting at 1, takes
 * ⌈log2((m+1)!/(c!(m-c)!))⌉ + 1 bits whatever the order of the bits. The program that the paper
 * used does more than that: it has a header, and takes 16 bytes more in the first experiment.
 */

import {
  binaryEntropy,
  deltaBitsDeviation,
  deltaDensity,
  occupancyMean,
  occupancyVariance,
  zeroProbability,
  zeroProbabilityExact,
} from 'bloomery/math';

export interface CodedShape {
  readonly bits: number;
  readonly hashes: number;
  readonly keys: number;
  /** Number of keys replaced between the two filters of a delta; 0 for a whole filter. */
  readonly replaced: number;
}

/** Bytes of the end of a code beyond its information: 1/2 - 1/(8 ln 2). */
const END_BYTES = 0.5 - 1 / (8 * Math.LN2);

/** Expected bytes of the range code of a whole array. */
export function expectedCodeBytes(shape: CodedShape): number {
  const { bits } = shape;
  const { mean, variance } = codedOnes(shape);
  // d²/dx² log2 C(m,x) = -log2 e·m/(x(m-x)), up to terms of order 1/x².
  const curvature = (-Math.LOG2E * bits) / (mean * (bits - mean));
  const ideal = log2Binomial(bits, mean) + (curvature * variance) / 2;
  return (ideal + staleBits(mean / bits, bits)) / 8 + END_BYTES;
}

/** Bits of the adaptive coder in the paper's appendix. */
export function appendixBits(bits: number, ones: number): number {
  return Math.ceil(log2Binomial(bits, ones) + Math.log2(bits + 1)) + 1;
}

/** Mean and variance of the number of ones that are coded. */
function codedOnes({ bits, hashes, keys, replaced }: CodedShape): { mean: number; variance: number } {
  if (replaced === 0) {
    const balls = hashes * keys;
    return { mean: occupancyMean(bits, balls), variance: occupancyVariance(bits, balls) };
  }
  // Zero in one of the two filters and not in their OR, on either side.
  const zeros = zeroProbabilityExact(bits, hashes, keys);
  const mean = 2 * bits * (zeros - zeroProbabilityExact(bits, hashes, keys + replaced));
  // The library gives the deviation of the size, |H'(q)|·sd; divided by the slope it is that of the
  // number.
  const c = replaced / keys;
  const q = deltaDensity(zeroProbability(bits, hashes, keys), c);
  return { mean, variance: (deltaBitsDeviation(bits, hashes, keys, c) / Math.log2((1 - q) / q)) ** 2 };
}

/**
 * Bits that coding by words of 32 costs above coding by single bits, at density p, at the end of an
 * array.
 */
function staleBits(p: number, bits: number): number {
  let cost = 0;
  let left = 0;
  // Beyond 300 words before the end all the rest adds 0.001 bits.
  for (let word = 0; word < 300 && left < bits; word++) {
    const size = word === 0 && bits % 32 !== 0 ? bits % 32 : 32;
    left += size;
    const from = left;
    cost += size * expected(from, p, (ones) => binaryEntropy(ones / from));
  }
  return cost - expected(left, p, (ones) => log2Binomial(left, ones));
}

/** log2 of m over x, for real x. */
function log2Binomial(m: number, x: number): number {
  return (logFactorial(m) - logFactorial(x) - logFactorial(m - x)) * Math.LOG2E;
}

/** E of(c) for c binomial (count, p). */
function expected(count: number, p: number, of: (ones: number) => number): number {
  const centre = Math.round(count * p);
  const reach = Math.ceil(10 * Math.sqrt(count * p * (1 - p)) + 10);
  let sum = 0;
  for (let ones = Math.max(0, centre - reach); ones <= Math.min(count, centre + reach); ones++) {
    const log = log2Binomial(count, ones) / Math.LOG2E + ones * Math.log(p) + (count - ones) * Math.log1p(-p);
    sum += Math.exp(log) * of(ones);
  }
  return sum;
}

/** ln Γ(x+1), by Stirling's series from 20 on. */
function logFactorial(x: number): number {
  let shifted = x + 1;
  let shift = 0;
  while (shifted < 20) shift += Math.log(shifted++);
  const inverse = 1 / shifted;
  const series = inverse * (1 / 12 - inverse ** 2 * (1 / 360 - inverse ** 2 / 1260));
  return (shifted - 0.5) * Math.log(shifted) - shifted + 0.5 * Math.log(2 * Math.PI) + series - shift;
}
