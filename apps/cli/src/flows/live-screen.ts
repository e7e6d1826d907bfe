/**
 * A screen of a terminal that is drawn again and again. It uses the alternate screen, as less and
 * top do, so that the shell's text comes back at the end.
 */

import { undoAtSignal } from '../terminal/orderly-end.ts';
import { write } from '../terminal/standard-output.ts';

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const END_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';

export class LiveScreen {
  readonly #forget: () => void;

  constructor() {
    write(ENTER);
    this.#forget = undoAtSignal(() => write(LEAVE));
  }

  /** Draws lines from the top, cut to the size of the terminal. */
  draw(text: string): void {
    const { columns = 80, rows = 24 } = process.stdout;
    const lines = text.split('\n').slice(0, rows - 1);
    write(HOME + lines.map((line) => `${cut(line, columns)}${END_OF_LINE}\n`).join('') + REST_OF_SCREEN);
  }

  /** Gives the terminal back. */
  close(): void {
    this.#forget();
    write(LEAVE);
  }
}

/** The first characters of a line; colour codes take no place. */
function cut(line: string, columns: number): string {
  let [kept, width] = ['', 0];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colour codes are made of
  for (const [piece] of line.matchAll(/\u001b\[[0-9;]*m|./gu)) {
    if (piece.length > 2) kept += piece;
    else if (width++ < columns) kept += piece;
  }
  return kept;
}
