/**
 * Plots for a terminal. With colours, lines are Braille dots and measured points are ● and ○.
 * Without colours, such lines could not be told apart: each series then has a letter, small for
 * lines and capital for points. A series with a glyph of its own is told apart by that and needs no
 * letter.
 *
 * The result is text: no terminal is asked here. We use no plotting package: those we found draw
 * one series of evenly spaced values, and have neither logarithmic axes nor marks.
 */

import { type CanvasPlace, CharacterCanvas, columnAt, paint, rowAt } from './character-canvas.ts';
import { type Axis, type Plot, position, type Series, tickLabel } from './plot.ts';
import type { Colors } from './screen.ts';

export interface TerminalPlotOptions {
  readonly colors: Colors;
  /** Columns of the screen. */
  readonly width: number;
  /** Lines between the axes. Default 18. */
  readonly height?: number;
}

/**
 * The plot as lines of text, without a newline at the end; empty if the screen is too narrow for
 * it.
 */
export function terminalPlot(plot: Plot, { colors, width, height = 18 }: TerminalPlotOptions): string {
  const { title, x, y, series } = plot;
  const labels = y.ticks.map((tick) => tickLabel(y, tick));
  const margin = Math.max(...labels.map((label) => label.length));
  const columns = Math.min(width, MOST_WIDTH) - margin - 2;
  if (columns < LEAST_COLUMNS) return '';
  const canvas = new CharacterCanvas(columns, height, colors);
  drawMarks(canvas, plot, columns, height);
  const letters = series.map((one, i) => letterOf(one, i, colors));
  // Points after all lines, so that no line covers them.
  series.forEach((one, i) => {
    drawBody(canvas, one, placesOf(one, plot), letters[i]);
  });
  series.forEach((one, i) => {
    drawPoints(canvas, one, placesOf(one, plot), letters[i]);
  });
  const labelOf = new Map(y.ticks.map((tick, i) => [rowAt(position(y, tick), height), labels[i]]));
  const lines = canvas.lines().map((line, row) => {
    const label = labelOf.get(row);
    return `${(label ?? '').padStart(margin)} ${label === undefined ? '│' : '┤'}${line}`.trimEnd();
  });
  return [
    colors.bold(title),
    y.label,
    ...lines,
    ...horizontalAxis(x, columns).map((line) => `${' '.repeat(margin + 1)}${line}`.trimEnd()),
    ...series.map((one, i) => `${' '.repeat(margin + 2)}${sampleOf(one, letters[i], colors)} ${one.name}`),
  ].join('\n');
}

/** The vertical lines, with their words beside them. */
function drawMarks(canvas: CharacterCanvas, { x, marks = [] }: Plot, columns: number, height: number): void {
  for (const { x: at, label, anchor, line = 0 } of marks) {
    const column = columnAt(position(x, at), columns);
    for (let row = 0; row < height; row++) canvas.put(column, row, '┊');
    canvas.write(anchor === 'end' ? column - label.length - 1 : column + 2, line, label);
  }
}

function placesOf({ points }: Series, { x, y }: Plot): CanvasPlace[] {
  return points
    .filter((point) => point.every(Number.isFinite))
    .map(([across, up]) => [position(x, across), position(y, up)]);
}

/** The lines and bars of a series. */
function drawBody(
  canvas: CharacterCanvas,
  { kind, colour }: Series,
  places: readonly CanvasPlace[],
  letter: string | undefined,
): void {
  if (kind === 'line' || kind === 'dashed') canvas.line(places, colour, letter);
  else if (kind === 'bars') {
    // As wide as the points are apart.
    const width = places.length > 1 ? places[1][0] - places[0][0] : 0;
    for (const place of places) canvas.bar(place, width, colour, letter);
  }
}

/** The points of a series that shows them. */
function drawPoints(
  canvas: CharacterCanvas,
  { kind, colour, glyph }: Series,
  places: readonly CanvasPlace[],
  letter: string | undefined,
): void {
  const sign = glyph ?? (kind in SIGNS ? (letter ?? SIGNS[kind]) : undefined);
  if (sign !== undefined) for (const place of places) canvas.sign(place, sign, colour);
}

/** The letter that tells a series apart where there are neither colours nor a glyph. */
function letterOf({ kind, glyph }: Series, i: number, colors: Colors): string | undefined {
  if (colors.isColorSupported || glyph !== undefined) return undefined;
  const letter = LETTERS[i % LETTERS.length];
  return kind === 'line' || kind === 'dashed' ? letter : letter.toUpperCase();
}

/** Two characters for the legend. */
function sampleOf({ kind, colour, glyph }: Series, letter: string | undefined, colors: Colors): string {
  if (letter !== undefined) return letter.padEnd(2);
  const isLine = kind === 'line' || kind === 'dashed';
  const sign = glyph ?? (isLine ? '⠒' : kind === 'bars' ? '█' : SIGNS[kind]);
  return paint(`${isLine ? '⠒' : ' '}${sign}`, colour, colors);
}

/**
 * The axis, its ticks, its label. The label of a tick is left out where it would touch the one
 * before.
 */
function horizontalAxis(axis: Axis, columns: number): string[] {
  const line = Array.from({ length: columns }, () => '─');
  let labels = '';
  for (const tick of axis.ticks) {
    const at = columnAt(position(axis, tick), columns);
    line[at] = '┬';
    const label = tickLabel(axis, tick);
    const start = Math.max(0, Math.min(columns - label.length, at - Math.floor(label.length / 2)));
    if (labels !== '' && start < labels.length + 1) continue;
    labels = labels.padEnd(start) + label;
  }
  const middle = Math.max(0, Math.floor((columns - axis.label.length) / 2));
  return [`└${line.join('')}`, ` ${labels}`, ` ${' '.repeat(middle)}${axis.label}`];
}

/** Wider plots are no clearer. */
const MOST_WIDTH = 96;
const LEAST_COLUMNS = 20;
const LETTERS = 'abcdefghij';
/** How points are drawn, by the kind of their series. */
const SIGNS: Partial<Record<Series['kind'], string>> = { dots: '●', rings: '○' };
