/**
 * How far measurements lie from their theory, and whether that is too far: farther than five standard deviations, which
 * chance alone does once in 1.7 million comparisons.
 *
 * Tables show the distance in standard errors, and take those from the scatter of the trials. With eight trials that error is
 * itself a guess, and five of them are not rare (1 in 600). So the verdict takes the scatter that theory gives, where it
 * gives one, and else allows for the number of trials. With many trials it is all the same.
 */

import { rateTrue, rateTrueVariance } from 'bloomery/math';
import type { Summary } from '../trials/samples.ts';

export interface Comparison {
  readonly what: string;
  /** The distance in standard errors, by the scatter of the trials. */
  readonly sigmas: number;
  /** The distance in standard deviations of a normal distribution: what the verdict goes by. */
  readonly deviations: number;
}

/** Notes a comparison and gives its distance as a cell. */
export type Compare = (comparison: Comparison) => string;

/** A mean beside what it should be. `spread` is the standard deviation that theory gives a single trial. */
export function compareMean(what: string, summary: Summary, theory: number, spread?: number): Comparison {
  const { mean, error, trials } = summary;
  const sigmas = (mean - theory) / error;
  const deviations =
    spread === undefined ? normalDeviations(sigmas, trials) : (mean - theory) / (spread / Math.sqrt(trials));
  return { what, sigmas, deviations };
}

/** Something else than a mean, whose distance is known without its scatter. */
export function compareDistance(what: string, sigmas: number): Comparison {
  return { what, sigmas, deviations: sigmas };
}

/** The standard deviation of the rate that one filter shows to so many strangers: its own fill, and the luck of the draw. */
export function rateSpread(bits: number, hashes: number, keys: number, strangers: number): number {
  const rate = rateTrue(bits, hashes, keys);
  return Math.hypot(Math.sqrt(rateTrueVariance(bits, hashes, keys)), countingSpread(rate, strangers));
}

/** The luck of the draw alone. */
export function countingSpread(rate: number, strangers: number): number {
  return Math.sqrt((rate * (1 - rate)) / strangers);
}

export function isTooFar({ deviations }: Comparison): boolean {
  return !(Math.abs(deviations) <= LIMIT);
}

export function farthest(comparisons: readonly Comparison[]): Comparison {
  return comparisons.reduce((a, b) => (Math.abs(b.deviations) > Math.abs(a.deviations) ? b : a));
}

/** One sentence. Under the null hypothesis one expects a distance above 3 once in 370 comparisons. */
export function summaryOf(comparisons: readonly Comparison[]): string {
  const worst = comparisons.reduce((a, b) => (Math.abs(b.sigmas) > Math.abs(a.sigmas) ? b : a));
  const squares = comparisons.reduce((sum, { sigmas }) => sum + sigmas ** 2, 0) / comparisons.length;
  return (
    `${comparisons.length} of the measurements have a theory without free parameters; they lie ${Math.sqrt(squares).toFixed(2)} standard errors ` +
    `from it (root mean square; chance alone gives 1), the farthest ${worst.sigmas.toFixed(1)} (${worst.what}).`
  );
}

/**
 * The normal deviation that is as improbable as t standard errors taken from so many trials: D. L. Wallace, Bounds on normal
 * approximations to Student's and the chi-square distributions, Annals of Mathematical Statistics 30, 1959.
 */
export function normalDeviations(t: number, trials: number): number {
  const freedom = trials - 1;
  const shrunk = (8 * freedom + 1) / (8 * freedom + 3);
  return Math.sign(t) * shrunk * Math.sqrt(freedom * Math.log1p((t * t) / freedom));
}

const LIMIT = 5;
