/**
 * How the zeros of an array fall with the number of keys: each key leaves a given bit alone with a probability
 * that depends on the layout only, so E[zeros] = bits · e^(-decay · n), and n can be estimated from the zeros
 * (survey 2.4). With confidence intervals: estimates.ts.
 */

/** -ln of the probability that a key misses a bit that each of its `probes` hits with probability `chance`. */
export function decayOf(probes: number, chance: number): number {
  return -probes * Math.log1p(-chance);
}

/** The number of keys that leave `ones` ones on the average; Infinity if there is no zero. */
export function sizeFromOnes(bits: number, ones: number, decay: number): number {
  return -Math.log1p(-ones / bits) / decay;
}
