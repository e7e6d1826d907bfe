/**
 * Estimates the number of differences d from the numbers in the first symbols. That costs nothing:
 * the symbols are needed anyway. We use it to choose a method and to size a filter.
 *
 * In symbol i, the number of ids of one side minus that of the other has the mean D·ρ and the
 * variance d·ρ(1-ρ), with ρ = 1/(1 + i/2) and D the difference of the two sizes. Numbers are known
 * modulo 256, so the deviation is a normal value wrapped at 256. The estimate is the d of greatest
 * likelihood on a grid with steps of 5 %. 64 symbols give 0.7 to 1.4 times the true value in most
 * sessions. Wrapping hides the upper end: above about 300,000 differences the estimate from 64
 * symbols is a lower bound. It is good enough for a filter, whose size depends on the logarithm.
 */

const WRAP = 256;
const STEP = 1.05;

export interface DifferenceCounts {
  /** The number of symbols that are used; symbol 0 says nothing. */
  readonly size: number;
  /** The difference of the numbers in symbol i, modulo 256. */
  countAt(i: number): number;
  /** The difference of the two sizes. */
  readonly balance: number;
  /** Upper bound: the sum of the two sizes. */
  readonly most: number;
}

export function estimateDifference({ size, countAt, balance, most }: DifferenceCounts): number {
  const used = Math.min(size, 256);
  const deviations = new Float64Array(used);
  const variances = new Float64Array(used);
  for (let i = 1; i < used; i++) {
    const rho = 1 / (1 + i / 2);
    const deviation = countAt(i) - balance * rho;
    deviations[i] = deviation - WRAP * Math.round(deviation / WRAP);
    variances[i] = rho * (1 - rho);
  }
  let best = Math.max(1, Math.abs(balance));
  let bestLikelihood = Number.NEGATIVE_INFINITY;
  for (let d = best; d <= Math.max(most, best); d = Math.max(d + 1, d * STEP)) {
    let likelihood = 0;
    // A twelfth is the variance that rounding to integers adds.
    for (let i = 1; i < used; i++) likelihood += logWrappedNormal(deviations[i], d * variances[i] + 1 / 12);
    if (likelihood > bestLikelihood) {
      bestLikelihood = likelihood;
      best = d;
    }
  }
  return best;
}

/** Logarithm of the density of a normal value with mean 0, wrapped to -128 … 128. */
function logWrappedNormal(x: number, variance: number): number {
  const deviation = Math.sqrt(variance);
  // From here on the wrapped density is flat to 0.1 %.
  if (deviation > 0.65 * WRAP) return -Math.log(WRAP);
  if (deviation < 20) return -0.5 * Math.log(2 * Math.PI * variance) - (x * x) / (2 * variance);
  let density = 0;
  for (let turn = -3; turn <= 3; turn++) density += Math.exp(-((x + WRAP * turn) ** 2) / (2 * variance));
  return Math.log(density / Math.sqrt(2 * Math.PI * variance));
}
