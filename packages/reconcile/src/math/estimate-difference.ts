/**
 * Estimates of the number of differences d: from the sketch in a hello, and from symbols that were
 * not enough to decode.
 *
 * **Counters.** If both sides have k counters, the difference of two corresponding ones has the
 * variance d/k. The sum of the squares is an estimate of d with a standard deviation of √(2/k): 50
 * % from the 8 coarse counters of a sketch, and 9 % from the 256 fine ones. If it is at most k/2,
 * most differences have a counter of their own, and the sum of the absolute values is better: two
 * keys in one counter are two.
 *
 * Fine counters are known modulo 4, so 3 looks like -1. That takes the mean of the squares down to
 * 1.5 - 2y + y²/2 with y = e^(-d/k), which we solve for d, up to 220 differences. Coarse ones are
 * known modulo 256, and wrap from about 8000 differences on. So we turn each into an angle x. The
 * mean of cos x is e^(-d/k·(1 - cos 2π/256)), which is as precise as the squares and does not wrap.
 * Above 20,000 differences it only says that they are many. Before a large filter, all 256 counters
 * are sent whole. They tell up to two million differences within 9 %.
 *
 * **Symbols.** In symbol i, the number of ids of one side minus that of the other has the mean D·ρ
 * and the variance d·ρ(1-ρ), with ρ = 1/(1 + i/2) and D the difference of the two sizes. The mean
 * of the squares, each divided by ρ(1-ρ), is an estimate of d with a standard deviation of √(2/n)
 * from n symbols. The first symbols are left out: their ρ is smaller by up to 4 %, and their
 * numbers are known modulo 16 or 256 only. What was known before counts as 8 symbols.
 */

import { COARSE, COUNTERS } from '../sets/hash-counters.ts';

/** The angle of one step of a coarse counter. */
const ANGLE = Math.PI / 128;
/** The sum of the squares up to which fine counters are used. */
const MOST_FINE = 0.75 * COUNTERS;
const FIRST_USED = 8;
const PRIOR_WEIGHT = 8;

/**
 * The estimate from the sketches of two sets of these sizes. 0 if neither sizes nor sketches
 * differ.
 */
export function estimateFromSketches(
  ours: Uint8Array,
  theirs: Uint8Array,
  here: number,
  there: number,
): number {
  let squares = 0;
  for (let i = 8 * COARSE; i < 8 * ours.length; i += 2) {
    const apart = ((ours[i >> 3] >> (i & 7)) - (theirs[i >> 3] >> (i & 7))) & 3;
    squares += apart === 3 ? 1 : apart ** 2;
  }
  const estimate =
    squares > 0 && squares < MOST_FINE
      ? -COUNTERS * Math.log(2 - Math.sqrt(1 + (2 * squares) / COUNTERS))
      : estimateFromCounters(ours.subarray(0, COARSE), theirs);
  return Math.max(Math.abs(here - there), Math.round(estimate));
}

/** The estimate from counters modulo 256. */
export function estimateFromCounters(ours: Uint8Array, theirs: Uint8Array): number {
  const apart = Int8Array.from(ours, (counter, i) => counter - theirs[i]);
  const total = (value: (x: number) => number) => apart.reduce((sum, x) => sum + value(x), 0);
  const size = apart.length;
  const sum = total(Math.abs);
  if (sum <= size / 2) return sum;
  const mean = total((x) => Math.cos(x * ANGLE)) / size;
  return (size * Math.log(Math.max(0.1, mean))) / (Math.cos(ANGLE) - 1);
}

/**
 * The estimate from `size` symbols. `countAt` gives the difference of the numbers in symbol i,
 * modulo 2^bits, `balance` is the difference of the two sizes, and `prior` the number of
 * differences as known before, or 0.
 */
export function estimateFromSymbols(
  size: number,
  countAt: (i: number) => number,
  balance: number,
  prior: number,
  bits: number,
): number {
  const wrap = 2 ** bits;
  const weight = prior > 0 ? PRIOR_WEIGHT : 0;
  let sum = weight * prior;
  let used = weight;
  // From here on, the standard deviation of a number is below an eighth of the wrap.
  for (let i = Math.max(FIRST_USED, Math.ceil((128 * prior) / wrap ** 2)); i < size; i++, used++) {
    const rho = 1 / (1 + i / 2);
    const deviation = countAt(i) - balance * rho;
    sum += (deviation - wrap * Math.round(deviation / wrap)) ** 2 / (rho * (1 - rho));
  }
  return Math.max(1, Math.abs(balance), sum / (used || 1));
}
