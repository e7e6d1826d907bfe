import pc from 'picocolors';
import { expect, test } from 'vitest';
import { type FittedPlotOptions, fittedPlot } from './fitted-plot.ts';
import type { Series } from './plot.ts';
import { terminalPlot } from './terminal-plot.ts';

const options = { width: 60, height: 9, title: 'title', xLabel: 'x', yLabel: 'y', formatY: String };
const series = (ys: readonly number[]): Series[] => [
  { name: 's', kind: 'line', colour: 0, glyph: '*', points: ys.map((y, i) => [i + 1, y] as const) },
];

test('fittedPlot is logarithmic where values span more than a factor of five', () => {
  const lines = drawPlot({ ...options, series: series([1, 0.1, 0.01, 0.001, 0.0001]) });
  const field = lines.filter((line) => /[│┤]/.test(line));
  expect(field).toHaveLength(9);
  // Equal ratios are equal distances.
  expect(field.map((line) => line.includes('*'))).toEqual([
    true,
    false,
    true,
    false,
    true,
    false,
    true,
    false,
    true,
  ]);
  expect(field.map((line) => line.trim().split(' ')[0])).toEqual([
    '1',
    '│',
    '0.1',
    '│',
    '0.01',
    '│',
    '0.001',
    '│',
    '0.0001',
  ]);
  const straight = drawPlot({ ...options, series: series([1, 2, 3]) });
  // Three rows, and the legend.
  expect(straight.filter((line) => line.includes('*')).length).toBe(4);
});

test('fittedPlot leaves out what has no place: zeros, infinities, and everything where there is no room', () => {
  const lines = drawPlot({ ...options, series: series([0, 1, Number.POSITIVE_INFINITY, 2, Number.NaN]) });
  expect(lines.filter((line) => /[│┤].*\*/.test(line))).toHaveLength(2);
  expect(drawPlot({ ...options, series: series([0]) })).toEqual([]);
  expect(drawPlot({ ...options, width: 15, series: series([1, 2]) })).toEqual([]);
});

test('fittedPlot has ticks at whole numbers, every one or at round steps, and half a step beside them', () => {
  const axis = (count: number) => fittedPlot({ ...options, series: series(new Array(count).fill(1)) })?.x;
  expect(axis(13)).toMatchObject({ from: 0.5, to: 13.5, ticks: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13] });
  expect(axis(20)?.ticks).toEqual([1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
  expect(axis(64)?.ticks).toEqual([1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60]);
});

test('fittedPlot has a single value in the middle of the vertical axis', () => {
  const field = drawPlot({ ...options, series: series([0.25]) }).filter((line) => /[│┤]/.test(line));
  expect(field.findIndex((line) => line.includes('*'))).toBe(4);
  expect(field[4]).toMatch(/^0\.25 ┤/);
});

/** The lines of a plot in a terminal without colours. */
function drawPlot({
  width,
  height,
  ...plot
}: FittedPlotOptions & { width: number; height: number }): string[] {
  const fitted = fittedPlot(plot);
  const text = fitted && terminalPlot(fitted, { width, height, colors: pc.createColors(false) });
  return text ? text.split('\n') : [];
}
