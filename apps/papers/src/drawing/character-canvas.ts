/**
 * A field of characters to draw on: lines in Braille dots (2 across and 4 down in each character),
 * signs, words, bars.
 *
 * Places are shares of the field, from 0 to 1, x to the right and y upwards. `columnAt` and `rowAt`
 * are the only rounding rule, so that a sign lies on the line through it and a tick below its sign.
 * Places outside the field are not drawn.
 */

import type { Colour } from './plot.ts';
import type { Colors } from './screen.ts';

export type CanvasPlace = readonly [x: number, y: number];

/** The column of a share of the width. */
export function columnAt(x: number, columns: number): number {
  return dotAcross(x, columns) >> 1;
}

/** The row of a share of the height; row 0 is the top. */
export function rowAt(y: number, rows: number): number {
  return dotDown(y, rows) >> 2;
}

export class CharacterCanvas {
  readonly #columns: number;
  readonly #rows: number;
  readonly #colors: Colors;
  readonly #cells: Cell[][];

  constructor(columns: number, rows: number, colors: Colors) {
    this.#columns = columns;
    this.#rows = rows;
    this.#colors = colors;
    this.#cells = Array.from({ length: rows }, () => Array.from({ length: columns }, () => EMPTY));
  }

  /** One character in a cell, over whatever is there. */
  put(column: number, row: number, glyph: string, colour: Colour | null = null): void {
    if (this.#cells[row]?.[column] !== undefined) this.#cells[row][column] = { glyph, colour, dots: 0 };
  }

  write(column: number, row: number, text: string): void {
    [...text].forEach((glyph, i) => {
      this.put(column + i, row, glyph);
    });
  }

  sign([x, y]: CanvasPlace, glyph: string, colour: Colour): void {
    this.put(columnAt(x, this.#columns), rowAt(y, this.#rows), glyph, colour);
  }

  /** A line through the places, in Braille dots or, with a letter, in letters. */
  line(places: readonly CanvasPlace[], colour: Colour, letter?: string): void {
    for (let i = 1; i < places.length; i++) {
      const [[x0, y0], [x1, y1]] = [places[i - 1], places[i]];
      const width = Math.abs(x1 - x0) * (2 * this.#columns - 1);
      const height = Math.abs(y1 - y0) * (4 * this.#rows - 1);
      // At most one dot a step in either direction: no gaps, and no thick corners.
      const steps = Math.max(1, Math.ceil(Math.max(width, height)));
      for (let step = 0; step <= steps; step++) {
        const share = step / steps;
        this.#dot([x0 + (x1 - x0) * share, y0 + (y1 - y0) * share], colour, letter);
      }
    }
  }

  /**
   * A bar from the bottom up to the place, in eighths of a cell or, with a letter, in whole ones.
   */
  bar([x, y]: CanvasPlace, width: number, colour: Colour, letter?: string): void {
    const from = Math.round((x - width / 2) * (this.#columns - 0.5));
    const to = Math.max(from + 1, Math.round((x + width / 2) * (this.#columns - 0.5)));
    const eighths = Math.round(2 * y * (4 * this.#rows - 1));
    for (let row = 0; row < this.#rows; row++) {
      const full = Math.min(8, eighths - 8 * (this.#rows - 1 - row));
      if (full < (letter === undefined ? 1 : 4)) continue;
      for (let column = from; column < to; column++) {
        this.put(column, row, letter ?? BLOCKS[full - 1], colour);
      }
    }
  }

  lines(): string[] {
    return this.#cells.map((row) =>
      row
        .map(({ glyph, colour, dots }) => {
          const text = dots > 0 ? String.fromCodePoint(0x2800 + dots) : glyph;
          return colour === null ? text : paint(text, colour, this.#colors);
        })
        .join(''),
    );
  }

  #dot([x, y]: CanvasPlace, colour: Colour, letter: string | undefined): void {
    const [across, down] = [dotAcross(x, this.#columns), dotDown(y, this.#rows)];
    const [column, row] = [across >> 1, down >> 2];
    const cell = this.#cells[row]?.[column];
    if (cell === undefined) return;
    if (letter !== undefined) this.put(column, row, letter, colour);
    else {
      this.#cells[row][column] = { glyph: '', colour, dots: cell.dots | BRAILLE[down & 3][across & 1] };
    }
  }
}

/**
 * Text in one of the five colours of a plot. Cyan and not blue, which is hard to read on a black
 * terminal.
 */
export function paint(text: string, colour: Colour, colors: Colors): string {
  const { cyan, yellow, green, magenta, red } = colors;
  return [cyan, yellow, green, magenta, red][colour](text);
}

function dotAcross(x: number, columns: number): number {
  return Math.round(x * (2 * columns - 1));
}

function dotDown(y: number, rows: number): number {
  return Math.round((1 - y) * (4 * rows - 1));
}

interface Cell {
  readonly glyph: string;
  readonly colour: Colour | null;
  /** Bits of a Braille character; 0 where a glyph stands. */
  readonly dots: number;
}

const EMPTY: Cell = { glyph: ' ', colour: null, dots: 0 };
const BLOCKS = '▁▂▃▄▅▆▇█';
/**
 * The bits of a Braille character (U+2800 on) by row and column of the dot; Unicode, block Braille
 * Patterns.
 */
const BRAILLE = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
];
