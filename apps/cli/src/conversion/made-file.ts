/**
 * The last step of every command that makes one file from others: it writes the file and reports.
 * Standard output gets the file (`-o -`) or the report (`--json`), never both. On a terminal the
 * report is a few lines on standard error. Scripts get no report.
 */

import { statSync } from 'node:fs';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { writeJson } from '../terminal/standard-output.ts';
import { isTerminal } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface MadeFileOptions {
  readonly output: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** Refuses an impossible output before any work is done. */
export function checkOutput({ output, force, json }: MadeFileOptions): void {
  if (json && output === '-') {
    throw new UsageError('--json and -o - both want standard output; name a file for one of them');
  }
  checkTarget(output, { force });
}

/**
 * Writes the file, then reports: a JSON object for `--json`, `lines` on a terminal, and otherwise
 * nothing.
 */
export function finishOutput(
  { output, force = false, json }: MadeFileOptions,
  bytes: Uint8Array,
  report: Readonly<Record<string, unknown>>,
  lines: readonly string[],
): void {
  writeTarget(output, bytes, { force });
  if (json) writeJson({ output, bytes: bytes.length, ...report });
  else if (isTerminal(2)) process.stderr.write(lines.map((line) => `${line}\n`).join(''));
}

/**
 * Refuses standard input given twice, and directories, because the system's own error does not name
 * the directory.
 */
export function checkInputs(paths: readonly string[]): void {
  if (paths.filter((path) => path === '-').length > 1) {
    throw new UsageError('standard input (-) can be only one of the files');
  }
  for (const path of paths) {
    if (path !== '-' && statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw new UsageError(`${path} is a directory, expected a file`);
    }
  }
}
