/**
 * A filter that grows by stages (Almeida, Baquero, Preguiça, Hutchison, Scalable Bloom filters, IPL
 * 101, 2007).
 *
 * Stage i is made for c₀·sⁱ keys at the rate p₀·rⁱ, with growth s > 1 and tightening r < 1. A key
 * that is in none of the stages is a false positive if any stage answers "maybe", so the compound
 * rate is
 *
 *     P = 1 - Π(1 - p₀·rⁱ) <= Σ p₀·rⁱ < p₀/(1 - r),
 *
 * however many stages there will be (their section 3.1). Choosing p₀ = P·(1 - r) keeps P forever.
 * The exact solution of the product would allow a p₀ larger by a relative P/2 or so. That saves
 * some thousandths of a bit per key, which is not worth a solver.
 *
 * How many keys there are. Each stage knows exactly how many keys went into it, because only keys
 * that are certainly in no stage do. The unknown is how many new keys were mistaken for known ones
 * and left out. While j keys are in, the next new key is left out with the compound rate f(j) of
 * that moment. So before the next one goes in, a geometric number of them is left out, on average
 * f/(1-f) with variance f/(1-f)². Summed over all keys that went in, these are the expectation and
 * the variance of the number of missing keys. The sum of the counts is a certain lower bound.
 */

import { checkInteger, checkNumber, checkRate } from './checks.ts';
import { type Estimate, twoSidedQuantile } from './estimates/zero-count.ts';
import { rateAsymptotic } from './rates.ts';

export interface ScalablePlan {
  /** P, the compound rate that no number of stages exceeds. */
  readonly falsePositiveRate: number;
  /** c₀, the capacity of the first stage. */
  readonly initialCapacity: number;
  /** s, the growth of the capacity per stage, from 1.25 to 1000. */
  readonly growth: number;
  /** r, the factor of the rate per stage, strictly between 0 and 1. */
  readonly tightening: number;
}

export interface StagePlan {
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

export function checkScalablePlan(plan: ScalablePlan): void {
  checkRate('falsePositiveRate', plan.falsePositiveRate);
  checkInteger('initialCapacity', plan.initialCapacity, 1);
  // A factor near 1 would make the number of stages, and the time of a lookup, grow with the keys.
  checkNumber('growth', plan.growth, 1.25, 1000);
  checkRate('tightening', plan.tightening);
}

/**
 * Capacity and rate of stage i. Computed by repeated products, which are the same on every machine;
 * powers may not be.
 */
export function stagePlan(plan: ScalablePlan, i: number): StagePlan {
  checkInteger('i', i);
  let capacity = plan.initialCapacity;
  let falsePositiveRate = plan.falsePositiveRate * (1 - plan.tightening);
  for (let stage = 0; stage < i; stage++) {
    capacity *= plan.growth;
    falsePositiveRate *= plan.tightening;
  }
  return { capacity: Math.floor(capacity), falsePositiveRate };
}

/** The state of one stage: its shape, and how many keys went into it. */
export interface StageCount {
  readonly bits: number;
  readonly hashes: number;
  readonly count: number;
}

export interface KeysSoFar {
  /** Number of keys that went in, a lower bound on the distinct keys. */
  readonly inside: number;
  /**
   * Expectation and variance of the number of keys that were mistaken for known ones and left out.
   */
  readonly missing: number;
  readonly variance: number;
}

export function countKeys(stages: readonly StageCount[]): KeysSoFar {
  let inside = 0;
  let missing = 0;
  let variance = 0;
  let lnNone = 0; // ln of the probability that none of the stages before errs
  for (const { bits, hashes, count } of stages) {
    // The stage answers "maybe" with (1 - e^(-kj/m))^k when j keys are in (survey 2.1).
    const lnRight = (keys: number) => lnNone + Math.log1p(-rateAsymptotic(bits, hashes, keys));
    // The rate rises smoothly, so 64 midpoints are as good as a sum over all keys.
    const steps = Math.min(count, 64);
    for (let step = 0; step < steps; step++) {
      const right = Math.exp(lnRight(((step + 0.5) * count) / steps - 0.5));
      missing += ((1 - right) / right) * (count / steps);
      variance += ((1 - right) / (right * right)) * (count / steps);
    }
    lnNone = lnRight(count);
    inside += count;
  }
  return { inside, missing, variance };
}

/**
 * The number of distinct keys that were added, with an interval. The lower end is q standard
 * deviations below, and at least the number of keys that are in. The upper end is Bernstein's
 * bound, because a few rare events deviate further than a normal variable would.
 */
export function estimateScalableSize(stages: readonly StageCount[], confidence = 0.95): Estimate {
  const q = twoSidedQuantile(confidence);
  const { inside, missing, variance } = countKeys(stages);
  const value = inside + missing;
  const standardError = Math.sqrt(variance);
  const rare = (q * q) / 6;
  return {
    value,
    low: Math.max(inside, value - q * standardError),
    high: inside === 0 ? 0 : value + rare + Math.hypot(rare, q * standardError),
    standardError,
  };
}
