/**
 * How the number of zeros in an array falls with the number of keys. Each key leaves a given bit
 * alone with a probability that depends only on the layout, so E[zeros] = bits · e^(-decay · n),
 * and n can be estimated from the zeros (survey 2.4). estimates.ts adds confidence intervals.
 */

/**
 * -ln of the probability that a key misses a bit, if each of its `probes` hits it with probability
 * `chance`.
 */
export function decayOf(probes: number, chance: number): number {
  return -probes * Math.log1p(-chance);
}

/** The number of keys that leave `ones` ones on average, or Infinity if there is no zero. */
export function sizeFromOnes(bits: number, ones: number, decay: number): number {
  return -Math.log1p(-ones / bits) / decay;
}
