/**
 * `bloomery selftest`: checks that this installation works on this machine. It checks that both
 * kernels write the same bytes as on every other machine, that rates lie within five standard
 * deviations, that round trips work, and that damage is refused. The statistics have fixed seeds,
 * so a build passes always or never. It takes a few seconds.
 */

import type { Command } from 'commander';
import { withExamples, withJson } from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { BEHAVIOUR_CHECKS, kernel } from '../selftest/behaviour.ts';
import { BYTE_CHECKS } from '../selftest/bytes.ts';
import { type SelfCheck, Skipped } from '../selftest/self-check.ts';
import { formatSeconds } from '../terminal/format-values.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

interface CheckResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Result, fault, or the reason why it could not be checked. */
  readonly detail: string;
  readonly seconds: number;
}

export function register(program: Command): void {
  const command = program
    .command('selftest')
    .description(
      'check this installation: pinned bytes, both kernels, rates, round trips; exit code 1 on a failure',
    )
    .argument('[check...]', 'only checks with this in their names; without: all')
    .action(run);
  withExamples(withJson(command), [
    ['bloomery selftest', 'a line for each check'],
    ['bloomery selftest rate', 'only the rates'],
    ['bloomery selftest --json | jq .failed', 'for scripts'],
  ]);
}

async function run(wanted: readonly string[], { json }: { readonly json?: boolean }): Promise<void> {
  const all = [...BYTE_CHECKS, ...BEHAVIOUR_CHECKS];
  for (const part of wanted) {
    if (!all.some(({ name }) => name.includes(part))) {
      const names = all.map(({ name }) => name).join('; ');
      throw new UsageError(`no check has ${JSON.stringify(part)} in its name; there are: ${names}`);
    }
  }
  const results: CheckResult[] = [];
  for (const check of all) {
    if (wanted.length > 0 && !wanted.some((part) => check.name.includes(part))) continue;
    const result = await resultOf(check);
    results.push(result);
    if (!json) writeResult(result);
  }
  const failed = results.filter(({ outcome }) => outcome === 'failed').length;
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  if (json) {
    writeJson({ kernel: kernel(), node: process.version, checks: results, failed, seconds });
  } else {
    const outcome = failed === 0 ? 'all is well' : `${failed} of ${results.length} checks failed`;
    writeLine(`${outcome}: ${kernel()} on Node ${process.version}, ${formatSeconds(seconds)}`);
  }
  if (failed > 0) process.exitCode = NOT_FOUND;
}

async function resultOf({ name, run: check }: SelfCheck): Promise<CheckResult> {
  const start = performance.now();
  const result = (outcome: CheckResult['outcome'], detail: string) => ({
    name,
    outcome,
    detail,
    seconds: (performance.now() - start) / 1000,
  });
  try {
    return result('passed', await check());
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return result(error instanceof Skipped ? 'skipped' : 'failed', message);
  }
}

function writeResult({ name, outcome, detail, seconds }: CheckResult): void {
  const paint = colors(1);
  const sign = { passed: paint.green('✓'), failed: paint.red('✗'), skipped: paint.yellow('–') }[outcome];
  writeLine(`${sign} ${name.padEnd(NAME_WIDTH)} ${formatSeconds(seconds).padStart(7)}  ${detail}`);
}

const NAME_WIDTH = 39;
