/**
 * The robust soliton distribution of degrees (Luby, "LT codes", 2002, definition 11), cut at its
 * spike. With R = c ln(k/delta) sqrt(k):
 *
 *     rho(1) = 1/k, rho(d) = 1/(d(d-1))
 *     tau(d) = R/(dk) for d < k/R, and R ln(R/delta)/k for d = k/R
 *
 * The weights rho + tau are normalised. Luby's distribution goes on to degree k with weights of
 * 1/(d(d-1)). We cut it after the spike, because a symbol of degree k costs its receiver k sums,
 * and a sender who may choose ids would choose those. An inactivation decoder does without them.
 *
 * Peeling alone would need a ripple that never dies, which costs about 10 % more symbols than
 * blocks. With inactivation only two things matter: that every block is in some symbol, which fails
 * for about k exp(-mean degree) blocks, and that few columns are inactivated. For few inactive
 * columns c should be small: with a small R there are fewer symbols of low degree, which often
 * repeat each other. With 4,000 blocks and 1.5 % more symbols, delta = 0.002 gives 188 inactive
 * columns at c = 0.03, 52 at c = 0.01. But with 1,000 blocks, 1 % more symbols fail in 7 % of the
 * cases at c = 0.01, in 1 % at c = 0.015. So we take c = 0.015 and delta = 0.002: mean degrees of
 * 13.6 to 15.3 for 1,000 to 4,000 blocks. bench/results/delivery-codes.md has the failures.
 */

import { naturalLog } from './natural-log.ts';

const SOLITON_C = 0.015;
const SOLITON_DELTA = 0.002;

export interface DegreeDistribution {
  /** Probability of each degree; entry 0 is 0. */
  readonly probabilities: Float64Array;
  readonly meanDegree: number;
  /** The greatest degree: k/R, rounded. */
  readonly spike: number;
}

export function robustSoliton(
  k: number,
  c: number = SOLITON_C,
  delta: number = SOLITON_DELTA,
): DegreeDistribution {
  const R = c * naturalLog(k / delta) * Math.sqrt(k);
  const spike = Math.max(1, Math.min(k, Math.round(k / R)));
  const probabilities = new Float64Array(spike + 1);
  probabilities[1] = 1 / k;
  for (let d = 2; d <= spike; d++) probabilities[d] = 1 / (d * (d - 1));
  for (let d = 1; d < spike; d++) probabilities[d] += R / (d * k);
  probabilities[spike] += (R * Math.max(0, naturalLog(R / delta))) / k;
  const total = probabilities.reduce((sum, weight) => sum + weight, 0);
  let meanDegree = 0;
  for (let d = 1; d <= spike; d++) {
    probabilities[d] /= total;
    meanDegree += d * probabilities[d];
  }
  return { probabilities, meanDegree, spike };
}
