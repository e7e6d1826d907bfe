/**
 * Medians of interleaved rounds: on a machine shared with others a mean says how busy the others
 * were.
 */

export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The median of the ratios of each round: a noisy second hits both sides of a ratio alike. */
export function medianRatio(above: readonly number[], below: readonly number[]): number {
  return median(above.slice(0, below.length).map((value, i) => value / below[i]));
}
