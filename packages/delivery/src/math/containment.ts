/**
 * Formulas for two sets that overlap. Resemblance is |A ∩ B| / |A ∪ B|, containment of A in B is
 * |A ∩ B| / |A| (Broder, "On the resemblance and containment of documents", 1997).
 */

/** The number of common elements of sets with these sizes and this resemblance. */
export function commonFromResemblance(resemblance: number, sizeA: number, sizeB: number): number {
  return Math.min((resemblance / (1 + resemblance)) * (sizeA + sizeB), sizeA, sizeB);
}

/**
 * Variance of a containment c that was estimated from random elements with replacement: the number
 * of hits is binomial.
 */
export function containmentVariance(c: number, samples: number): number {
  return (c * (1 - c)) / samples;
}

/**
 * Variance of a containment that was estimated from the resemblance r of two sketches, to first
 * order: the derivative of r / (1 + r) is 1 / (1 + r)^2.
 */
export function sketchedContainmentVariance(
  resemblance: number,
  sizeA: number,
  sizeB: number,
  minima: number,
): number {
  const slope = (sizeA + sizeB) / sizeA / (1 + resemblance) ** 2;
  return (slope ** 2 * resemblance * (1 - resemblance)) / minima;
}
