/**
 * Estimates of the number of differences d: from the counters of a hello, and from symbols that
 * were not enough to decode.
 *
 * **Counters.** The difference of k counters has the variance d/k, and is known modulo 256. The sum
 * of the squares is an estimate of d with a standard deviation of √(2/k): 35 % from 16 counters.
 * Where counters wrap, from about 1000·k differences on, we take the d of greatest likelihood on a
 * grid with steps of 5 %. Above 25,000·k the counters say nothing.
 *
 * **Symbols.** In symbol i, the number of ids of one side minus that of the other has the mean D·ρ
 * and the variance d·ρ(1-ρ), with ρ = 1/(1 + i/2) and D the difference of the two sizes. The mean
 * of the squares, each divided by ρ(1-ρ), is an estimate of d with a standard deviation of √(2/n)
 * from n symbols. The first symbols are left out: their ρ is smaller by up to 4 %, and their
 * numbers are known modulo 256 only. What was known before counts as 16 symbols.
 */

const WRAP = 256;
const STEP = 1.05;
/** The variance of a counter up to which it does not wrap: 128 is then 4 standard deviations. */
const NO_WRAP = 1000;
/** From this variance on, the wrapped density is flat to 0.1 %. */
const MOST_VARIANCE = 28_000;
const FIRST_USED = 8;
const PRIOR_WEIGHT = 16;

/** The estimate from the difference of counters, for two sets of these sizes. */
export function estimateFromCounters(
  ours: Uint8Array,
  theirs: Uint8Array,
  here: number,
  there: number,
): number {
  const least = Math.max(1, Math.abs(here - there));
  const apart = Int8Array.from(ours, (counter, i) => counter - theirs[i]);
  const count = apart.length;
  const squares = apart.reduce((sum, x) => sum + x * x, 0);
  // Without wrapping, the sum of the squares is the estimate of greatest likelihood.
  if (squares < NO_WRAP * count) return Math.max(least, squares);
  let best = least;
  let bestLikelihood = Number.NEGATIVE_INFINITY;
  const most = Math.min(here + there, MOST_VARIANCE * count);
  for (let d = NO_WRAP * count; d <= most; d *= STEP) {
    const likelihood = apart.reduce((sum, x) => sum + logWrappedNormal(x, d / count), 0);
    if (likelihood > bestLikelihood) {
      bestLikelihood = likelihood;
      best = Math.max(least, Math.round(d));
    }
  }
  return best;
}

/**
 * The estimate from `size` symbols. `countAt` gives the difference of the numbers in symbol i,
 * modulo 256, `balance` is the difference of the two sizes, and `prior` the number of differences
 * as known before, or 0.
 */
export function estimateFromSymbols(
  size: number,
  countAt: (i: number) => number,
  balance: number,
  prior: number,
): number {
  const weight = prior > 0 ? PRIOR_WEIGHT : 0;
  let sum = weight * prior;
  let used = weight;
  // From prior/500 on, the standard deviation of a number is below 32, an eighth of the wrap.
  for (let i = Math.max(FIRST_USED, Math.ceil(prior / 500)); i < size; i++, used++) {
    const rho = 1 / (1 + i / 2);
    const deviation = countAt(i) - balance * rho;
    sum += (deviation - WRAP * Math.round(deviation / WRAP)) ** 2 / (rho * (1 - rho));
  }
  return Math.max(1, Math.abs(balance), used > 0 ? sum / used : 0);
}

/** Logarithm of the density of a normal value with mean 0, wrapped to -128 … 128. */
function logWrappedNormal(x: number, variance: number): number {
  let density = 0;
  for (let turn = -3; turn <= 3; turn++) density += Math.exp(-((x + WRAP * turn) ** 2) / (2 * variance));
  return Math.log(density / Math.sqrt(2 * Math.PI * variance));
}
