/**
 * A plot for a terminal: lines in Braille dots (2 by 4 to a character), points as marks, axes with labels.
 *
 * It draws curves over whole numbers, such as the rate against the number of hash functions in the papers (tutorial,
 * figure 1; compressed, figures 1 and 2). The vertical axis is logarithmic where the values span more than a factor
 * of five; on a straight one all but the largest would lie on the floor. Values that a logarithm does not have
 * (0, what is below the smallest double) are left out, and so are NaN and Infinity.
 *
 * Text in, text out: no terminal is asked here. Refused: a plotting package. The ones there are draw one series of evenly
 * spaced values and know neither logarithms nor marks.
 */

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
}

export interface PlotSeries {
  readonly name: string;
  /** One character, drawn at each point. */
  readonly mark: string;
  /** Rising x. */
  readonly points: readonly PlotPoint[];
  /** Colours mark and line. */
  readonly paint?: ((text: string) => string) | undefined;
}

export interface PlotOptions {
  readonly series: readonly PlotSeries[];
  /** Characters of a line, all included. */
  readonly width: number;
  /** Lines of the field between the axes. Default 14. */
  readonly height?: number;
  readonly xLabel: string;
  readonly yLabel: string;
  /** How values of the vertical axis are written. */
  readonly formatY: (y: number) => string;
  /** Drawn last, over whatever is there. */
  readonly chosen?:
    | (PlotPoint & { readonly label: string; readonly paint?: (text: string) => string })
    | undefined;
}

/** The lines of a plot, the legend last; empty if there is nothing to draw or no room for it. */
export function drawPlot(options: PlotOptions): string[] {
  const { xLabel, yLabel, formatY, chosen, width, height = 14 } = options;
  const series = options.series.map((one) => ({ ...one, points: one.points.filter(isDrawable) }));
  const points = [...series.flatMap((one) => one.points), ...(chosen && isDrawable(chosen) ? [chosen] : [])];
  if (points.length === 0) return [];
  const vertical = verticalScale(points.map(({ y }) => y));
  const labels = new Map(
    vertical.ticks.map((y) => [Math.round((1 - vertical.at(y)) * (4 * height - 1)) >> 2, formatY(y)]),
  );
  const margin = Math.max(...[...labels.values()].map((label) => label.length));
  const columns = Math.min(width - margin - 3, MOST_COLUMNS);
  if (columns < LEAST_COLUMNS) return [];
  const [first, last] = [Math.min(...points.map(({ x }) => x)), Math.max(...points.map(({ x }) => x))];
  const across = (x: number) => (last === first ? 0.5 : (x - first) / (last - first));
  const field = new Field(columns, height);
  for (const one of series)
    field.line(
      one.points.map(({ x, y }) => [across(x), vertical.at(y)]),
      one.paint,
    );
  for (const { points, mark, paint } of series) {
    for (const { x, y } of points) field.mark(across(x), vertical.at(y), mark, paint);
  }
  if (chosen && isDrawable(chosen)) field.mark(across(chosen.x), vertical.at(chosen.y), CHOSEN, chosen.paint);
  const lines = field.lines().map((line, row) => {
    const label = labels.get(row);
    return `${(label ?? '').padStart(margin)} ${label === undefined ? '│' : '┤'} ${line}`.trimEnd();
  });
  const [ticks, numbers] = horizontalAxis(first, last, columns, across);
  const indent = ' '.repeat(margin + 1);
  const legend = [
    ...series.map(({ name, mark, paint }) => `${paint === undefined ? mark : paint(mark)} ${name}`),
    ...(chosen === undefined ? [] : [`${chosen.paint?.(CHOSEN) ?? CHOSEN} ${chosen.label}`]),
  ];
  return [
    `${indent}${yLabel}`,
    ...lines,
    `${indent}└─${ticks}`,
    `${indent}  ${numbers}`.trimEnd(),
    `${indent}  ${xLabel}`,
    ...wrap(legend, width - margin - 3).map((line) => `${indent}  ${line}`),
  ];
}

/** Whether a value can be on an axis at all. */
function isDrawable({ x, y }: PlotPoint): boolean {
  return Number.isFinite(x) && Number.isFinite(y) && y > 0;
}

/** The characters of the field, and the dots of the lines. */
class Field {
  readonly #columns: number;
  readonly #rows: number;
  readonly #dots: Uint8Array;
  readonly #paints: (((text: string) => string) | undefined)[] = [];
  readonly #marks = new Map<number, string>();

  constructor(columns: number, rows: number) {
    this.#columns = columns;
    this.#rows = rows;
    this.#dots = new Uint8Array(columns * rows);
  }

  /** A line through places from 0 to 1 in both directions, y upwards. */
  line(
    places: readonly (readonly [x: number, y: number])[],
    paint: ((text: string) => string) | undefined,
  ): void {
    const [width, height] = [2 * this.#columns - 1, 4 * this.#rows - 1];
    for (let i = 1; i < places.length; i++) {
      const [[x0, y0], [x1, y1]] = [places[i - 1], places[i]];
      const steps = Math.ceil(Math.max(Math.abs(x1 - x0) * width, Math.abs(y1 - y0) * height, 1));
      for (let step = 0; step <= steps; step++) {
        const share = step / steps;
        const x = Math.round((x0 + (x1 - x0) * share) * width);
        const y = Math.round((1 - y0 - (y1 - y0) * share) * height);
        const cell = (y >> 2) * this.#columns + (x >> 1);
        this.#dots[cell] |= DOTS[y & 3][x & 1];
        this.#paints[cell] = paint;
      }
    }
  }

  mark(x: number, y: number, mark: string, paint: ((text: string) => string) | undefined): void {
    // By the same rounding as the line, so that a mark lies on it.
    const column = Math.round(x * (2 * this.#columns - 1)) >> 1;
    const row = Math.round((1 - y) * (4 * this.#rows - 1)) >> 2;
    this.#marks.set(row * this.#columns + column, paint === undefined ? mark : paint(mark));
  }

  lines(): string[] {
    return Array.from({ length: this.#rows }, (_, row) => {
      let line = '';
      for (let cell = row * this.#columns; cell < (row + 1) * this.#columns; cell++) {
        const mark = this.#marks.get(cell);
        const dots = this.#dots[cell];
        const drawn = dots === 0 ? ' ' : String.fromCharCode(0x2800 + dots);
        line += mark ?? (dots === 0 ? drawn : (this.#paints[cell]?.(drawn) ?? drawn));
      }
      return line;
    });
  }
}

interface Scale {
  /** From 0 (lowest) to 1. */
  readonly at: (y: number) => number;
  readonly ticks: readonly number[];
}

function verticalScale(values: readonly number[]): Scale {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const logarithmic = high / low > 5;
  const ticks = logarithmic ? logarithmicTicks(low, high) : evenTicks(low, high);
  const [from, to] = [Math.min(low, ...ticks), Math.max(high, ...ticks)];
  const position = logarithmic ? Math.log : (y: number) => y;
  const span = position(to) - position(from);
  return { ticks, at: (y) => (span === 0 ? 0.5 : (position(y) - position(from)) / span) };
}

/** Powers of ten; of a narrow range also twice and five times those. At most about eight. */
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

function horizontalAxis(
  first: number,
  last: number,
  columns: number,
  across: (x: number) => number,
): [string, string] {
  const ticks = new Array<string>(columns).fill('─');
  const numbers = new Array<string>(columns).fill(' ');
  const room = String(last).length + 2;
  const step =
    [1, 2, 5, 10, 20, 50, 100].find((size) => ((last - first) / size + 1) * room <= columns) ?? 1000;
  for (let x = first; x <= last; x = step === 1 ? x + 1 : Math.floor(x / step + 1) * step) {
    const column = Math.round(across(x) * (2 * columns - 1)) >> 1;
    const text = String(x);
    const start = Math.max(0, Math.min(column - ((text.length - 1) >> 1), columns - text.length));
    // The first number and the next multiple of the step may be close.
    if (numbers.slice(Math.max(0, start - 1), start + text.length + 1).some((character) => character !== ' '))
      continue;
    ticks[column] = '┬';
    for (const [i, character] of [...text].entries()) numbers[start + i] = character;
  }
  return [ticks.join(''), numbers.join('')];
}

/** Entries on lines of at most `width` characters; colour codes do not count. */
function wrap(entries: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colour codes are made of
    const size = entry.replace(/\u001b\[[0-9;]*m/g, '').length;
    if (length + 3 + size > width) {
      lines.push(entry);
      length = size;
    } else {
      lines[lines.length - 1] += `   ${entry}`;
      length += 3 + size;
    }
  }
  return lines;
}

const CHOSEN = '◆';
/** Wider plots are no clearer. */
const MOST_COLUMNS = 100;
const LEAST_COLUMNS = 20;
/** The bits of a Braille character (U+2800 on) by row and column of the dot; Unicode, block Braille Patterns. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
];
