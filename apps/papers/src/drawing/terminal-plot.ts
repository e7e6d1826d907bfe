/**
 * Plots in a terminal. With colours lines are Braille dots, eight to a cell, and measured points are ● and ○. Without
 * colours such lines could not be told apart: then each series has a letter, small for lines and capital for points.
 */

import { type Axis, type Plot, position, type Series, tickLabel } from './plot.ts';
import type { Colors } from './screen.ts';

export interface TerminalPlotOptions {
  readonly colors: Colors;
  /** Columns that there are, for labels and all. */
  readonly width: number;
  /** Lines between the axes. */
  readonly height?: number;
}

/** Lines of text, without a newline at the end. */
export function terminalPlot(plot: Plot, { colors, width, height = 18 }: TerminalPlotOptions): string {
  const { title, x, y, series, marks = [] } = plot;
  const yLabels = y.ticks.map((tick) => tickLabel(y, tick));
  const margin = Math.max(...yLabels.map((label) => label.length));
  const columns = Math.max(20, Math.min(width, WIDEST) - margin - 2);
  const canvas = new Canvas(columns, height, colors);
  for (const { x: at, label, anchor, line = 0 } of marks) {
    const column = cellAt(position(x, at), columns);
    for (let row = 0; row < height; row++) canvas.put(column, row, '┊', null);
    canvas.write(anchor === 'end' ? column - label.length - 1 : column + 2, line, label);
  }
  series.forEach((one, i) => {
    canvas.draw(one, x, y, GLYPHS[i % GLYPHS.length]);
  });
  const names = new Map(
    y.ticks.map((tick, i) => [height - 1 - cellAt(position(y, tick), height), yLabels[i]]),
  );
  const lines = canvas.lines().map((line, row) => {
    const name = names.get(row);
    return `${(name ?? '').padStart(margin)} ${name === undefined ? '│' : '┤'}${line}`;
  });
  return [
    colors.bold(title),
    `${y.label}`,
    ...lines.map((line) => line.trimEnd()),
    ...xAxis(x, columns).map((line) => `${' '.repeat(margin + 1)}${line}`.trimEnd()),
    ...series.map(
      (one, i) => `${' '.repeat(margin + 2)}${sampleOf(one, GLYPHS[i % GLYPHS.length], colors)}  ${one.name}`,
    ),
  ].join('\n');
}

class Canvas {
  readonly #columns: number;
  readonly #rows: number;
  readonly #colors: Colors;
  readonly #coloured: boolean;
  readonly #cells: Cell[][];

  constructor(columns: number, rows: number, colors: Colors) {
    this.#columns = columns;
    this.#rows = rows;
    this.#colors = colors;
    this.#coloured = colors.isColorSupported;
    this.#cells = Array.from({ length: rows }, () => Array.from({ length: columns }, () => EMPTY));
  }

  put(column: number, row: number, glyph: string, colour: number | null): void {
    if (column < 0 || column >= this.#columns || row < 0 || row >= this.#rows) return;
    this.#cells[row][column] = { glyph, colour, dots: 0 };
  }

  write(column: number, row: number, text: string): void {
    [...text].forEach((glyph, i) => {
      this.put(column + i, row, glyph, null);
    });
  }

  draw(series: Series, x: Axis, y: Axis, letter: string): void {
    const { kind, colour, points } = series;
    // In eighths of a cell: two across, four down.
    const at = points.map(([px, py]) => [
      position(x, px) * (2 * this.#columns - 1),
      (1 - position(y, py)) * (4 * this.#rows - 1),
    ]);
    if (kind === 'bars') {
      // As wide as the points are apart.
      const half = at.length > 1 ? (at[1][0] - at[0][0]) / 2 : 1;
      for (const [across, down] of at) {
        const from = Math.round((across - half) / 2);
        const to = Math.max(from + 1, Math.round((across + half) / 2));
        for (let column = from; column < to; column++) this.#bar(column, down, colour, letter);
      }
    } else if (kind === 'dots' || kind === 'rings') {
      const glyph = this.#coloured ? (kind === 'dots' ? '●' : '○') : letter.toUpperCase();
      for (const [across, down] of at) {
        this.put(Math.floor(across / 2 + 0.25), Math.floor(down / 4 + 0.125), glyph, colour);
      }
    } else {
      at.forEach(([across, down], i) => {
        if (i > 0) this.#line(at[i - 1][0], at[i - 1][1], across, down, colour, letter);
      });
    }
  }

  lines(): string[] {
    return this.#cells.map((row) =>
      row
        .map(({ glyph, colour, dots }) => {
          const text = dots > 0 ? String.fromCodePoint(0x2800 + dots) : glyph;
          return this.#coloured && colour !== null ? paint(text, colour, this.#colors) : text;
        })
        .join(''),
    );
  }

  #line(x0: number, y0: number, x1: number, y1: number, colour: number, letter: string): void {
    const steps = Math.max(1, Math.ceil(2 * Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0))));
    for (let step = 0; step <= steps; step++) {
      const across = Math.round(x0 + ((x1 - x0) * step) / steps);
      const down = Math.round(y0 + ((y1 - y0) * step) / steps);
      const [column, row] = [across >> 1, down >> 2];
      const cell = this.#cells[row]?.[column];
      if (cell === undefined) continue;
      if (this.#coloured) {
        const dots = cell.dots | BRAILLE[down & 3][across & 1];
        this.#cells[row][column] = { glyph: '', colour, dots };
      } else this.put(column, row, letter, colour);
    }
  }

  /** From the bottom up, the last cell in eighths. */
  #bar(column: number, down: number, colour: number, letter: string): void {
    const eighths = Math.round(2 * (4 * this.#rows - 1 - down));
    for (let row = 0; row < this.#rows; row++) {
      const full = Math.min(8, eighths - 8 * (this.#rows - 1 - row));
      if (full <= 0) continue;
      if (this.#coloured) this.put(column, row, BLOCKS[full - 1], colour);
      else if (full >= 4) this.put(column, row, letter.toUpperCase(), colour);
    }
  }
}

interface Cell {
  readonly glyph: string;
  readonly colour: number | null;
  readonly dots: number;
}

const EMPTY: Cell = { glyph: ' ', colour: null, dots: 0 };
/** Wider plots are no clearer. */
const WIDEST = 96;
const GLYPHS = 'abcdefghij';
const BLOCKS = '▁▂▃▄▅▆▇█';
/** The bits of a Braille cell, by row and column. */
const BRAILLE = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
];

/** The axis, its ticks, its label. A label that would touch the one before is left out. */
function xAxis(axis: Axis, columns: number): string[] {
  const line = Array.from({ length: columns }, () => '─');
  let labels = '';
  for (const tick of axis.ticks) {
    const at = cellAt(position(axis, tick), columns);
    line[at] = '┬';
    const label = tickLabel(axis, tick);
    const start = Math.max(0, Math.min(columns - label.length, at - Math.floor(label.length / 2)));
    if (labels !== '' && start < labels.length + 1) continue;
    labels = labels.padEnd(start) + label;
  }
  const middle = Math.max(0, Math.floor((columns - axis.label.length) / 2));
  return [`└${line.join('')}`, ` ${labels}`, ` ${' '.repeat(middle)}${axis.label}`];
}

function cellAt(share: number, cells: number): number {
  return Math.round(share * (cells - 1));
}

function sampleOf({ kind, colour }: Series, letter: string, colors: Colors): string {
  if (!colors.isColorSupported) return kind === 'line' || kind === 'dashed' ? letter : letter.toUpperCase();
  const glyph = { line: '⠒⠒', dashed: '⠒⠒', dots: ' ●', rings: ' ○', bars: ' █' }[kind];
  return paint(glyph, colour, colors);
}

function paint(text: string, colour: number, { blue, yellow, green, magenta, red }: Colors): string {
  return [blue, yellow, green, magenta, red][colour](text);
}
