/** Two overlapping sets of lines and their filters, for tests of options that commands share. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect } from 'vitest';
import { bloomery, type Run, temporaryFolder } from '../run-command.ts';

export interface LineFilters {
  /** The path of a file in the folder. */
  at(name: string): string;
  /** Runs a command in the folder. */
  run(args: readonly string[], input?: string): Run;
}

/** Makes `low.txt` (line 0 to 999), `high.txt` (line 500 to 1499), `low.blm` and `high.blm`. */
export function lineFilters(): LineFilters {
  const folder = temporaryFolder();
  const at = (name: string) => join(folder, name);
  const run = (args: readonly string[], input = '') => bloomery(args, { input, cwd: folder });
  beforeAll(() => {
    for (const [name, from] of Object.entries({ low: 0, high: 500 })) {
      const lines = Array.from({ length: 1000 }, (_, i) => `line ${from + i}\n`);
      writeFileSync(at(`${name}.txt`), lines.join(''));
      expect(run(['build', `${name}.txt`, '-r', '1e-9', '-o', `${name}.blm`]).code).toBe(0);
    }
  });
  return { at, run };
}
