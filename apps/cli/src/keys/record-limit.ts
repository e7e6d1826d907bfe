/**
 * The longest line or record allowed. Input of gigabytes without a newline is refused before memory
 * runs out.
 */

import { formatBytes } from '../terminal/format-values.ts';
import { UsageError } from '../usage-error.ts';

export const LONGEST_RECORD = 1 << 28;

export function longRecord(path: string, what: 'line' | 'record'): UsageError {
  const hint =
    what === 'record' ? 'is a quote missing?' : 'are the keys separated by something else (--null)?';
  return new UsageError(`${path}: a ${what} is longer than ${formatBytes(LONGEST_RECORD)}; ${hint}`);
}
