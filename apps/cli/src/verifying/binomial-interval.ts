/**
 * Between which counts the successes of independent trials lie, but for the tail that five standard deviations of a normal
 * distribution leave on each side: 2.87e-7. Exact, not by the normal curve: of a rate of 1e-6 in a million trials one is
 * expected, and there a normal interval is wrong by orders of magnitude.
 *
 * The probabilities are summed from the most likely count outwards, each from its neighbour, so no factorials are needed:
 * some 17 deviations of terms, 17,000 for 10^8 trials at 1 %.
 */

export interface BinomialInterval {
  readonly low: number;
  readonly high: number;
}

/** The counts that a correct filter leaves once in 1.7 million runs, both sides together. */
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

/** Probabilities beyond the mode, in units of that of the mode, until they no longer matter. */
function side(mode: number, ratio: (x: number) => number, step: 1 | -1): number[] {
  const weights: number[] = [];
  for (let x = mode, weight = 1; ; x += step) {
    weight *= ratio(x);
    if (weight < 1e-15) return weights;
    weights.push(weight);
  }
}

/** How far from the mode a count may lie: the tail from there on, itself included, is still likely enough. */
function reach(weights: readonly number[], total: number): number {
  let tail = 0;
  for (let i = weights.length - 1; i >= 0; i--) {
    tail += weights[i];
    if (tail / total >= TAIL) return i + 1;
  }
  return 0;
}

function sum(weights: readonly number[]): number {
  // Smallest first.
  return weights.reduceRight((total, weight) => total + weight, 0);
}

/** 1 - Φ(5). */
const TAIL = 2.8665157187919333e-7;
