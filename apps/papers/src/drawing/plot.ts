/** Plots as data: axes, series, marks. svg-plot.ts and terminal-plot.ts draw them. */

type Scale = 'linear' | 'log';

export interface Axis {
  readonly label: string;
  readonly scale: Scale;
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
  readonly format?: (value: number) => string;
}

export type Point = readonly [x: number, y: number];

/** One of the five colours of a plot. */
export type Colour = 0 | 1 | 2 | 3 | 4;

export interface Series {
  readonly name: string;
  readonly kind: 'line' | 'dashed' | 'dots' | 'rings' | 'bars';
  readonly colour: Colour;
  readonly points: readonly Point[];
  /**
   * One character that a terminal shows at each point, on lines as well, instead of the usual sign.
   */
  readonly glyph?: string;
}

/** A vertical line with a word beside it. */
interface Mark {
  readonly x: number;
  readonly label: string;
  readonly anchor?: 'start' | 'end';
  /**
   * The line of text that the label stands in, counted from the top of the field; 0 unless told.
   */
  readonly line?: number;
}

export interface Plot {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  readonly marks?: readonly Mark[];
}

/** A curve: `count` points of a function, evenly spaced on the axis. */
export function curve({ scale, from, to }: Axis, of: (x: number) => number, count = 240): Point[] {
  return Array.from({ length: count + 1 }, (_, i) => {
    const share = i / count;
    const x = scale === 'log' ? from * (to / from) ** share : from + (to - from) * share;
    return [x, of(x)] as const;
  }).filter(([, y]) => Number.isFinite(y));
}

/** The place of a value on its axis: 0 to 1 if it is on the axis, otherwise limited to -1 and 2. */
export function position({ scale, from, to }: Axis, value: number): number {
  // An axis of one value has it in the middle.
  if (from === to) return 0.5;
  const share =
    scale === 'log'
      ? Math.log(Math.max(value, from / 1e6) / from) / Math.log(to / from)
      : (value - from) / (to - from);
  return Math.max(-1, Math.min(2, share));
}

/** The text of a tick. */
export function tickLabel(axis: Axis, tick: number): string {
  return axis.format ? axis.format(tick) : String(tick);
}
