/** Prints a warning: one line on standard error, `bloomery: …`. */

import { colors } from './terminal.ts';

export function warn(message: string): void {
  process.stderr.write(`bloomery: ${colors(2).yellow('warning:')} ${message}\n`);
}
