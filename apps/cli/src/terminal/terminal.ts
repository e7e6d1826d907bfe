/**
 * Properties of the terminal, for output that differs from that of a pipe: colours, widths,
 * progress. `NO_COLOR` (no-color.org) and `TERM=dumb` switch colours off, `FORCE_COLOR` on.
 */

import { fstatSync } from 'node:fs';
import { createRequire } from 'node:module';
import type picocolors from 'picocolors';

type Colors = ReturnType<typeof picocolors.createColors>;

/** Colours for standard output (1) or standard error (2). */
export function colors(descriptor: 1 | 2 = 1): Colors {
  if (!hasColors(isTerminal(descriptor))) return NO_COLORS;
  return (createRequire(import.meta.url)('picocolors') as typeof picocolors).createColors(true);
}

/**
 * Every colour leaves the text as it is. picocolors opens standard output when it is loaded, and
 * with a pipe that loads the modules of the network, so it is loaded for colours alone.
 */
const NO_COLORS = new Proxy({} as Colors, {
  get: (_, name) => (name === 'isColorSupported' ? false : String),
});

/** A terminal is a device. Files and pipes are told from it without opening them as streams. */
export function isTerminal(descriptor: 1 | 2): boolean {
  if (!fstatSync(descriptor).isCharacterDevice()) return false;
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
