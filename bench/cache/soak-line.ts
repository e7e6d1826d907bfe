/**
 * Does something grow? A straight line through samples, by least squares, and whether its slope is
 * more than chance.
 *
 * Samples that follow each other are alike (a cache fills and empties slowly), so that there are
 * fewer independent ones than there are: the standard error is widened by the correlation of
 * neighbouring residuals, n (1 - r) / (1 + r) of n samples counting (the usual correction for an
 * AR(1) series). Where it breaks down: a curve that flattens out (a table that fills) has a slope,
 * too. So a leak must also matter: three standard errors above zero, and a growth over the samples
 * of more than `LEAST_GROWTH` of their mean.
 */

const LEAST_GROWTH = 0.03;
const LEAST_SAMPLES = 20;

export interface Line {
  readonly samples: number;
  readonly mean: number;
  /** Per hour. */
  readonly slope: number;
  readonly standardError: number;
  /** Growth from the first sample to the last, as a share of the mean. */
  readonly growth: number;
  readonly verdict: 'grows' | 'does not grow' | 'too short to tell';
}

/** Times in ms. */
export function fitLine(samples: readonly { readonly at: number; readonly value: number }[]): Line {
  const n = samples.length;
  const hours = samples.map(({ at }) => (at - samples[0]!.at) / 3_600_000);
  const values = samples.map(({ value }) => value);
  const mean = average(values);
  if (n < 3) {
    return { samples: n, mean, slope: 0, standardError: Infinity, growth: 0, verdict: 'too short to tell' };
  }
  const middle = average(hours);
  const spread = sum(hours.map((x) => (x - middle) ** 2));
  const slope = sum(hours.map((x, i) => (x - middle) * (values[i]! - mean))) / spread;
  const residuals = values.map((y, i) => y - mean - slope * (hours[i]! - middle));
  const squares = sum(residuals.map((r) => r * r));
  const neighbours = sum(residuals.slice(1).map((r, i) => r * residuals[i]!));
  const correlation = squares === 0 ? 0 : Math.min(0.95, Math.max(0, neighbours / squares));
  const independent = Math.max(3, (n * (1 - correlation)) / (1 + correlation));
  const standardError = Math.sqrt(squares / (independent - 2) / (spread * (independent / n)));
  const growth = (slope * hours.at(-1)!) / mean;
  const grows = slope > 3 * standardError && growth > LEAST_GROWTH;
  const verdict = n < LEAST_SAMPLES ? 'too short to tell' : grows ? 'grows' : 'does not grow';
  return { samples: n, mean, slope, standardError, growth, verdict };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function average(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}
