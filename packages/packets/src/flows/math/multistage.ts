/**
 * Formulas of Estan and Varghese ("New Directions in Traffic Measurement and Accounting", SIGCOMM
 * 2002, and the longer version in ACM TOCS, 2003) for multistage filters and for sample and hold.
 *
 * Symbols: C is the traffic of the measurement interval in bytes, T the threshold above which a
 * flow is heavy, n the number of flows, b the number of counters in a stage, d the number of
 * stages, and k = T·b/C the stage strength: how far the threshold lies above the mean counter.
 *
 * All functions give upper bounds for a parallel filter with plain update and stages that are
 * independent. Conservative update and shielding only lower the counters, so the bounds hold for
 * them. They do not hold for keys that were chosen with knowledge of the hash.
 */

/** Stage strength k = T·b/C. A filter is useful only above 1. */
export function stageStrength(threshold: number, counters: number, traffic: number): number {
  return (threshold * counters) / traffic;
}

/**
 * Upper bound on the probability that a flow of size s < T passes all d stages.
 *
 * The other flows of its counter must add T - s or more. Their mean is at most C/b, so by Markov's
 * inequality this happens with probability at most (C/b)/(T - s) = (1/k)·T/(T - s). The stages are
 * independent, which gives the power d. The bound is 1 from s = T·(1 - 1/k) on.
 */
export function passProbability(strength: number, stages: number, size: number, threshold: number): number {
  if (size >= threshold) return 1;
  return Math.min(1, threshold / (strength * (threshold - size))) ** stages;
}

/**
 * Upper bound on the expected number of flows that pass, heavy ones included.
 *
 * A flow of the mean size C/n passes one stage with probability at most q = n/(k·n - b), which is
 * `passProbability` with s = C/n. At most b/(k - 1) flows are so large that the bound on their
 * probability is 1. The expectation is then at most max(b/(k - 1), n·q^d) + n·q^d.
 */
export function expectedPassing(strength: number, counters: number, stages: number, flows: number): number {
  if (strength <= 1 || strength * flows <= counters) return flows;
  const small = flows * (flows / (strength * flows - counters)) ** stages;
  return Math.min(flows, Math.max(counters / (strength - 1), small) + small);
}

/**
 * Probability that sample and hold misses a flow of `size` bytes altogether. Each byte is sampled
 * with probability p, so the flow is missed with probability (1 - p)^size. With p = O/T and size T
 * it is close to e^-O; O is called the oversampling factor.
 */
export function missProbability(size: number, sampling: number): number {
  return Math.exp(size * Math.log1p(-sampling));
}

/**
 * Mean number of bytes of a flow that pass before its first sampled byte, (1 - p)/p for a flow that
 * never ends. This is the mean under-count of sample and hold.
 */
export function meanUndercount(sampling: number): number {
  return (1 - sampling) / sampling;
}

/** Mean number of entries that sample and hold creates for C bytes of traffic: at most p·C. */
export function expectedEntries(traffic: number, sampling: number): number {
  return traffic * sampling;
}
