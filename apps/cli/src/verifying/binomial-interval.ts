/**
 * The interval that holds the number of successes of independent trials, except for a tail of
 * 2.87e-7 on each side, the tail of a normal distribution beyond five standard deviations. It is
 * exact and does not use the normal curve. At a rate of 1e-6, a million trials have one expected
 * success, and there a normal interval is wrong by orders of magnitude.
 *
 * Each probability is computed from its neighbour, from the most likely count outwards, so no
 * factorials are needed. It takes some 17 deviations of terms, which is 17,000 for 10^8 trials at 1
 * %.
 */

export interface BinomialInterval {
  readonly low: number;
  readonly high: number;
}

/**
 * The interval that the count of a correct filter leaves once in 1.7 million runs, both sides
 * together.
 */
export function fiveSigma(trials: number, p: number): BinomialInterval {
  if (p <= 0) return { low: 0, high: 0 };
  if (p >= 1) return { low: trials, high: trials };
  const mode = Math.min(trials, Math.floor((trials + 1) * p));
  const odds = p / (1 - p);
  const above = side(mode, (x) => (x < trials ? ((trials - x) / (x + 1)) * odds : 0), 1);
  const below = side(mode, (x) => (x > 0 ? x / (trials - x + 1) / odds : 0), -1);
  const total = 1 + sum(above) + sum(below);
  return { low: mode - reach(below, total), high: mode + reach(above, total) };
}

/** Probabilities beyond the mode, relative to that of the mode, until they are negligible. */
function side(mode: number, ratio: (x: number) => number, step: 1 | -1): number[] {
  const weights: number[] = [];
  for (let x = mode, weight = 1; ; x += step) {
    weight *= ratio(x);
    if (weight < 1e-15) return weights;
    weights.push(weight);
  }
}

/**
 * The largest distance from the mode at which the tail, including that count, is at least `TAIL`.
 */
function reach(weights: readonly number[], total: number): number {
  let tail = 0;
  for (let i = weights.length - 1; i >= 0; i--) {
    tail += weights[i];
    if (tail / total >= TAIL) return i + 1;
  }
  return 0;
}

function sum(weights: readonly number[]): number {
  // The smallest terms are added first, for precision.
  return weights.reduceRight((total, weight) => total + weight, 0);
}

/** 1 - Φ(5). */
const TAIL = 2.8665157187919333e-7;
