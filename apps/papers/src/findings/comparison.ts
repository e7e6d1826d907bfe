/**
 * Distances of measurements from their theory. A distance of more than five standard deviations is
 * too far: randomness alone causes it once in 1.7 million comparisons.
 *
 * Tables show the distance in standard errors, estimated from the scatter of the trials. With eight
 * trials that estimate is poor, and a distance of five such errors is not rare (1 in 600). So we
 * judge by the scatter that theory gives. Where theory gives none, we correct for the number of
 * trials. With many trials all three agree.
 */

import { rateTrue, rateTrueVariance } from 'bloomery/math';
import type { Summary } from '../trials/samples.ts';

export interface Comparison {
  readonly what: string;
  /** The distance in standard errors, by the scatter of the trials. */
  readonly sigmas: number;
  /** The distance in standard deviations of a normal distribution, by which it is judged. */
  readonly deviations: number;
}

/** Keeps a comparison and returns its distance as the text of a cell. */
export type Compare = (comparison: Comparison) => string;

/**
 * Compares a mean with its theory. `spread` is the standard deviation that theory gives a single
 * trial.
 */
export function compareMean(what: string, summary: Summary, theory: number, spread?: number): Comparison {
  const { mean, error, trials } = summary;
  const sigmas = (mean - theory) / error;
  const deviations =
    spread === undefined ? normalDeviations(sigmas, trials) : (mean - theory) / (spread / Math.sqrt(trials));
  return { what, sigmas, deviations };
}

/** Compares something other than a mean, whose distance is already known in standard errors. */
export function compareDistance(what: string, sigmas: number): Comparison {
  return { what, sigmas, deviations: sigmas };
}

/**
 * Standard deviation of the rate of one filter, measured with non-member keys: it varies with the
 * fill and the keys drawn.
 */
export function rateSpread(bits: number, hashes: number, keys: number, strangers: number): number {
  const rate = rateTrue(bits, hashes, keys);
  return Math.hypot(Math.sqrt(rateTrueVariance(bits, hashes, keys)), countingSpread(rate, strangers));
}

/** The part of `rateSpread` that comes from drawing the keys. */
export function countingSpread(rate: number, strangers: number): number {
  return Math.sqrt((rate * (1 - rate)) / strangers);
}

export function isTooFar({ deviations }: Comparison): boolean {
  return !(Math.abs(deviations) <= LIMIT);
}

export function farthest(comparisons: readonly Comparison[]): Comparison {
  return comparisons.reduce((a, b) => (Math.abs(b.deviations) > Math.abs(a.deviations) ? b : a));
}

/**
 * One sentence about all comparisons. If theory is right, a distance above 3 comes once in 370
 * comparisons.
 */
export function summaryOf(comparisons: readonly Comparison[]): string {
  const worst = comparisons.reduce((a, b) => (Math.abs(b.sigmas) > Math.abs(a.sigmas) ? b : a));
  const squares = comparisons.reduce((sum, { sigmas }) => sum + sigmas ** 2, 0) / comparisons.length;
  return (
    `${comparisons.length} of the measurements have a theory without free parameters; they lie ${Math.sqrt(squares).toFixed(2)} standard errors ` +
    `from it (root mean square; chance alone gives 1), the farthest ${worst.sigmas.toFixed(1)} (${worst.what}).`
  );
}

/**
 * The normal deviation that is as improbable as t standard errors taken from so many trials: D. L.
 * Wallace, Bounds on normal approximations to Student's and the chi-square distributions, Annals of
 * Mathematical Statistics 30, 1959.
 */
export function normalDeviations(t: number, trials: number): number {
  const freedom = trials - 1;
  const shrunk = (8 * freedom + 1) / (8 * freedom + 3);
  return Math.sign(t) * shrunk * Math.sqrt(freedom * Math.log1p((t * t) / freedom));
}

const LIMIT = 5;
