/** Intervals over seeds, and powers that are fitted to costs. */

/** Quantiles of Student's t for a two-sided interval of 95 %, by degrees of freedom from 1 on. */
const STUDENT_95 = [12.706, 4.303, 3.182, 2.776];

/** The mean of some values with its 95 % interval, or a single value. */
export function intervalText(values: readonly number[], digits: number): string {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length === 1) return mean.toFixed(digits);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / (values.length - 1));
  const half = (STUDENT_95[values.length - 2]! * deviation) / Math.sqrt(values.length);
  return `${mean.toFixed(digits)} ± ${half.toFixed(digits)}`;
}

/** The power of N that fits best by least squares of the logarithms, and how far off it is. */
export function powerFit(points: readonly { readonly x: number; readonly y: number }[]): string {
  const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  const mean = (of: (point: { x: number; y: number }) => number) =>
    logs.reduce((sum, point) => sum + of(point), 0) / logs.length;
  const [meanX, meanY] = [mean(({ x }) => x), mean(({ y }) => y)];
  const power =
    logs.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) /
    logs.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  const factor = Math.exp(meanY - power * meanX);
  const worst = Math.max(...points.map(({ x, y }) => Math.abs(y / (factor * x ** power) - 1)));
  return `${factor.toPrecision(3)} · N^${power.toFixed(2)} (at most ${(100 * worst).toFixed(0)} % off)`;
}
