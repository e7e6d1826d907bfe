/**
 * From the number of zeros to the number of keys, with an interval: the common core of all size
 * estimates.
 *
 * In every layout each key leaves a given bit alone with the same probability, so E[Z] = m·e^(-an),
 * and n is estimated by ln(m/Z)/a (survey 2.4). Layouts differ in a, and in V(n), the relative
 * variance of Z.
 *
 * The interval is not value ± 2 standard errors. It holds every n for which the observed Z lies
 * within the quantile of the mean that *this* n would give (Wilson's idea for a proportion):
 * m·e^(-an)·(1 ± q·√V(n)) = Z, solved for n. That stays right near a full filter, where the
 * estimate is skewed, and gives a lower end even if no zero is left. It assumes that the number of
 * zeros is approximately normal, which it is above some hundred bits.
 */

import { checkInteger, checkRate } from '../checks.ts';
import { sizeFromOnes } from '../from-ones.ts';
import { normalQuantile } from '../normal.ts';

export interface Estimate {
  readonly value: number;
  /** Ends of the confidence interval. */
  readonly low: number;
  readonly high: number;
  /** Standard deviation of `value`, to first order. */
  readonly standardError: number;
}

/** The model of how the zeros of a layout fall with the number of keys. */
export interface ZeroModel {
  readonly bits: number;
  /** a, minus the logarithm of the probability that one key leaves a given bit alone. */
  readonly decay: number;
  /** V(n) = Var Z / (E Z)². */
  readonly relativeVariance: (n: number) => number;
}

/** Estimates the number of keys from the number of ones. */
export function estimateFromOnes(model: ZeroModel, ones: number, confidence = 0.95): Estimate {
  checkInteger('ones', ones, 0, model.bits);
  const q = twoSidedQuantile(confidence);
  // Every key sets a bit, so a filter without ones is certainly empty.
  if (ones === 0) return { value: 0, low: 0, high: 0, standardError: 0 };
  const { bits, decay, relativeVariance } = model;
  // With one bit to choose from, the first key fills it, and all further ones change nothing.
  if (decay === Number.POSITIVE_INFINITY) return { value: decay, low: 0, high: decay, standardError: decay };
  const share = (bits - ones) / bits;
  const value = sizeFromOnes(bits, ones, decay);
  const edge = (n: number, side: number) =>
    Math.exp(-decay * n) * (1 + side * q * Math.sqrt(Math.max(0, relativeVariance(n))));
  const low = solve((n) => edge(n, -1) > share, 0, Math.min(value, 1 / decay));
  if (share === 0) {
    return { value, low, high: Number.POSITIVE_INFINITY, standardError: Number.POSITIVE_INFINITY };
  }
  const high = solve((n) => edge(n, 1) > share, value, 2 * value);
  return { value, low, high, standardError: Math.sqrt(Math.max(0, relativeVariance(value))) / decay };
}

/** q such that a normal variable lies within ±q with the given probability. */
export function twoSidedQuantile(confidence: number): number {
  return normalQuantile((1 + checkRate('confidence', confidence)) / 2);
}

/**
 * The n at which `isBelow` turns from true to false, searched upwards from `low` in growing steps,
 * then bisected.
 */
function solve(isBelow: (n: number) => boolean, low: number, high: number): number {
  while (isBelow(high)) [low, high] = [high, 2 * high];
  while (high - low > 1e-12 * high) {
    const middle = (low + high) / 2;
    if (isBelow(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
