/**
 * How useful symbols of a partial holder are (Byers, Considine, Mitzenmacher and Rost 2002). The
 * containment c is the share of the sender's symbols that the receiver has already.
 */

/** The most symbols that a recoded one is made of, as in the paper's packets. */
export const MOST_RECODED = 50;

/** Share of random symbols that are new to the receiver. */
export function usefulShare(c: number): number {
  return 1 - c;
}

/**
 * Share of the sender's symbols that it sends if a filter with this rate of false positives holds
 * those of the receiver. All of them are new.
 */
export function filteredShare(c: number, falsePositiveRate: number): number {
  return (1 - falsePositiveRate) * (1 - c);
}

/**
 * Probability that a sum of `degree` symbols gives the receiver a new one at once: all but one are
 * known. The sender's set counts as large.
 */
export function recodedUsefulShare(c: number, degree: number): number {
  return degree * (1 - c) * c ** (degree - 1);
}

/**
 * The degree of recoded symbols with the greatest probability of being useful at once. It is one
 * of the two integers beside -1/ln(c), where the derivative is 0, and at most `most`. Ties take the
 * smaller degree.
 */
export function bestRecodingDegree(c: number, most: number = MOST_RECODED): number {
  if (!(c > 0)) return 1;
  if (c >= 1) return most;
  const peak = -1 / Math.log(c);
  const below = Math.max(1, Math.min(most, Math.floor(peak)));
  const above = Math.min(most, below + 1);
  return recodedUsefulShare(c, above) > recodedUsefulShare(c, below) ? above : below;
}
