/**
 * A plot whose axes fit its points: curves over whole numbers, such as the rate against the number
 * of hash functions (tutorial, figure 1; compressed, figures 1 and 2).
 *
 * The vertical axis is logarithmic where the values span more than a factor of five; on a linear
 * one all but the largest would lie at the bottom. Points that such an axis has no place for are
 * left out: values of 0 and below, NaN, Infinity.
 */

import type { Axis, Plot, Point, Series } from './plot.ts';

export interface FittedPlotOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** How the values of the vertical axis are written. */
  readonly formatY: (y: number) => string;
  readonly series: readonly Series[];
}

/** The plot of these series, or undefined if no point of them can be drawn. */
export function fittedPlot({ title, xLabel, yLabel, formatY, series }: FittedPlotOptions): Plot | undefined {
  const drawable = series.map((one) => ({ ...one, points: one.points.filter(isDrawable) }));
  const points = drawable.flatMap((one) => one.points);
  if (points.length === 0) return undefined;
  return {
    title,
    x: wholeAxis(
      xLabel,
      points.map(([x]) => x),
    ),
    y: {
      label: yLabel,
      format: formatY,
      ...verticalScale(points.map(([, y]) => y)),
    },
    series: drawable,
  };
}

function isDrawable([x, y]: Point): boolean {
  return Number.isFinite(x) && Number.isFinite(y) && y > 0;
}

/** An axis of whole numbers, half a step longer at both ends so that no point lies on its edge. */
function wholeAxis(label: string, values: readonly number[]): Axis {
  const [first, last] = [Math.min(...values), Math.max(...values)];
  const step = [1, 2, 5, 10, 20, 50, 100].find((size) => (last - first) / size < MOST_TICKS) ?? 1000;
  const ticks: number[] = [];
  for (let x = first; x <= last; x = Math.floor(x / step + 1) * step) ticks.push(x);
  return { label, scale: 'linear', from: first - 0.5, to: last + 0.5, ticks };
}

function verticalScale(values: readonly number[]): Omit<Axis, 'label' | 'format'> {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const scale = high / low > 5 ? 'log' : 'linear';
  const ticks = scale === 'log' ? logarithmicTicks(low, high) : evenTicks(low, high);
  return { scale, ticks, from: Math.min(low, ...ticks), to: Math.max(high, ...ticks) };
}

/** Powers of ten, and in a narrow range also two and five times those. At most about eight. */
function logarithmicTicks(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const step = Math.max(1, Math.ceil((last - first) / 8));
  const factors = last - first <= 2 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = first; power <= last; power += step) {
    for (const factor of factors) {
      const tick = Number(`${factor}e${power}`);
      if (tick >= low / 1.01 && tick <= high * 1.01) ticks.push(tick);
    }
  }
  return ticks.length > 0 ? ticks : [low, high];
}

function evenTicks(low: number, high: number): number[] {
  if (low === high) return [low];
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const ticks: number[] = [];
  // A multiple of the step, and not a sum of steps, which would print as 0.30000000000000004.
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks.length > 1 ? ticks : [low, high];
}

/** Number of labels for which a terminal of 80 columns has room. */
const MOST_TICKS = 16;
