/** One line on standard error that is no error: `bloomery: …`. */

import { colors } from './terminal.ts';

export function warn(message: string): void {
  process.stderr.write(`bloomery: ${colors(2).yellow('warning:')} ${message}\n`);
}
