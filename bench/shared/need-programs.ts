/** Ends the run before anything has started if a program that it needs is not installed. */

import { spawnSync } from 'node:child_process';

export function needPrograms(names: readonly string[], debian: string): void {
  const missing = names.filter((name) => spawnSync('which', [name]).status !== 0);
  if (missing.length === 0) return;
  console.error(`Missing: ${missing.join(', ')}. Debian: apt-get install ${debian}`);
  process.exit(1);
}
