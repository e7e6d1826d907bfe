/**
 * Properties of the terminal, for output that differs from that of a pipe: colours, widths,
 * progress. `NO_COLOR` (no-color.org) and `TERM=dumb` switch colours off, `FORCE_COLOR` on.
 */

import { fstatSync } from 'node:fs';
import pc from 'picocolors';

type Colors = ReturnType<typeof pc.createColors>;

/** Colours for standard output (1) or standard error (2). */
export function colors(descriptor: 1 | 2 = 1): Colors {
  return pc.createColors(hasColors(isTerminal(descriptor)));
}

export function isTerminal(descriptor: 1 | 2): boolean {
  return (descriptor === 1 ? process.stdout : process.stderr).isTTY === true;
}

/**
 * Whether standard output goes to a file. Then no other program of a pipe writes to the terminal
 * while a progress bar is drawn there.
 */
export function outputIsFile(): boolean {
  return fstatSync(1).isFile();
}

/** Columns of the terminal, or 80. */
export function terminalWidth(): number {
  return process.stdout.columns || process.stderr.columns || 80;
}

function hasColors(terminal: boolean): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0') return true;
  return terminal && TERM !== 'dumb';
}
