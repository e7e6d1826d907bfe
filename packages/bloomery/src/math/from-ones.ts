/**
 * The two things that the number of ones in an array of bits tells: how many keys set them, and how
 * likely a non-member key finds all of its bits set.
 *
 * Each key leaves a given bit alone with a probability that depends only on the layout, so E[zeros]
 * = bits · e^(-decay · n), and n can be estimated from the zeros (survey 2.4). zero-count.ts adds
 * confidence intervals; it is apart because a filter that only adds and looks up should not carry
 * the statistics in a web page.
 */

/**
 * -ln of the probability that a key misses a bit, if each of its `probes` hits it with probability
 * `chance`.
 */
export function decayOf(probes: number, chance: number): number {
  return -probes * Math.log1p(-chance);
}

/**
 * The number of keys that leave `ones` ones on average. Infinity if there is no zero; that is
 * tested first, because an array of one bit would give Infinity / Infinity.
 */
export function sizeFromOnes(bits: number, ones: number, decay: number): number {
  return ones < bits ? -Math.log1p(-ones / bits) / decay : Infinity;
}

/**
 * (ones/bits)^k: the false positive rate of a filter with this many ones, if each of the k probes
 * of a non-member key falls on every bit with the same probability. Survey 2.1, with the fill that
 * the filter has in place of the mean fill.
 */
export function rateFromOnes(bits: number, ones: number, k: number): number {
  return (ones / bits) ** k;
}
