/**
 * The arithmetic of Bloom filters whose bits were flipped at random (BLIP: Alaggan, Gambs and
 * Kermarrec 2012; randomised response: Warner 1965).
 *
 * Every bit of a filter with m bits and k hashes is flipped with probability p. A key changes at
 * most k bits, so the probability of any noisy filter changes by at most a factor ((1-p)/p)^k if
 * one key is added to the set or removed from it. With p = 1/(1 + e^(ε/k)) that factor is e^ε:
 * ε-differential privacy per key and per release.
 *
 * Few hashes are best: the noise for one ε grows with k. At ε = 4 and k = 7 it flips 36 % of the
 * bits, at k = 2 12 %.
 */

/** Steps of the flip probability: a random number of 32 bits is compared with it. */
export const FLIP_STEPS = 2 ** 32;

/**
 * The number of 32-bit values, out of 2^32, for which a bit is flipped. It is rounded up, so that
 * the loss is never more than `epsilon`.
 */
export function flipThreshold(epsilon: number, k: number): number {
  return Math.min(FLIP_STEPS / 2, Math.ceil(FLIP_STEPS / (1 + Math.exp(epsilon / k))));
}

/** The ε per release of a filter with k hashes whose bits are flipped with probability p. */
export function epsilonOf(p: number, k: number): number {
  return k * Math.log((1 - p) / p);
}

/** The true number of ones, estimated from `noisy` ones among m bits. It has no bias. */
export function trueOnes(noisy: number, m: number, p: number): number {
  return (noisy - p * m) / (1 - 2 * p);
}

/** The number of keys whose k hashes leave `ones` ones among m bits (survey 2.4). */
export function sizeFromOnes(ones: number, m: number, k: number): number {
  if (ones >= m) return Number.POSITIVE_INFINITY;
  return Math.log1p(-ones / m) / (k * Math.log1p(-1 / m));
}

export interface OverlapCounts {
  readonly m: number;
  readonly k: number;
  readonly p: number;
  /** The number of keys of the reader's set, which is known exactly, and the ones of its filter. */
  readonly ownSize: number;
  readonly ownOnes: number;
  /**
   * The ones of the noisy filter: all, and those at positions that are set in the reader's filter.
   */
  readonly noisyOnes: number;
  readonly noisyShared: number;
}

export interface OverlapEstimate {
  readonly value: number;
  /** Standard deviation that the noise causes. Collisions of hashes come on top. */
  readonly deviation: number;
}

/**
 * Estimates how many keys of the reader's set are in the set behind a noisy filter, by inclusion
 * and exclusion: own size + other size - size of the union. The estimate is unbiased but for the
 * curvature of the logarithm, so it can be below zero. It is infinite or not a number if the noise
 * left no zeros: that happens with many hashes and a small ε.
 */
export function overlapFromOnes(counts: OverlapCounts): OverlapEstimate {
  const { m, k, p, ownSize, ownOnes, noisyOnes, noisyShared } = counts;
  const other = trueOnes(noisyOnes, m, p);
  const shared = trueOnes(noisyShared, ownOnes, p);
  const union = ownOnes + other - shared;
  const value = ownSize + sizeFromOnes(other, m, k) - sizeFromOnes(union, m, k);
  // Noise at the reader's positions changes `other` alone. Noise elsewhere changes `other` and
  // `union`.
  const variance = (p * (1 - p)) / (1 - 2 * p) ** 2;
  const slope = (ones: number) => 1 / (k * (1 - ones / m));
  const inside = slope(other);
  const outside = slope(other) - slope(union);
  const deviation = Math.sqrt(variance * (ownOnes * inside ** 2 + (m - ownOnes) * outside ** 2));
  return { value, deviation };
}

/**
 * How much more likely one noisy bit is if a certain key is in the set, compared with a key that is
 * not: (1-p)/q for a one and p/(1-q) for a zero, where q is the share of ones in the noisy filter.
 */
export function bitLikelihoodRatio(set: boolean, p: number, noisyFill: number): number {
  return set ? (1 - p) / noisyFill : p / (1 - noisyFill);
}
