/**
 * The program around the commands: its options, its help and its errors. Commands throw; here an
 * error becomes one line on standard error and exit code 2. A command that answers "no" sets
 * `process.exitCode` to 1 itself.
 */

import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { CLOSED_PIPE, FAILED } from './exit-codes.ts';
import { reportError } from './terminal/error-text.ts';
import { ClosedPipe, write } from './terminal/standard-output.ts';

/** Runs a command line in the program that `create` returns. Sets the exit code. */
export async function runProgram(args: readonly string[], create: () => Promise<Command>): Promise<void> {
  try {
    const program = await create();
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof ClosedPipe) process.exitCode = CLOSED_PIPE;
    else if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : FAILED;
    else {
      process.exitCode = FAILED;
      reportError(error);
    }
  }
}

/** The program without commands. */
export function emptyProgram(): Command {
  return new Command('bloomery')
    .description(
      'Sets as small files: build, ask, combine, send and inspect Bloom filters and their relatives.',
    )
    .version(version(), '-V, --version')
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError('(--help shows how it is used)')
    .configureOutput({
      writeOut: (text) => write(text), // --help sees a closed pipe at once as well
      outputError: (text, writeError) => writeError(`bloomery: ${text}`),
    })
    .addHelpText(
      'after',
      `
Exit codes: 0 yes or done, 1 no (nothing found, a promise not kept), 2 error; after an error nothing was overwritten.
"Maybe in" can be wrong at the rate that the filter was made for; "certainly not in" is never wrong.

Examples:
  # a filter of a thousand lines, at 1 % false positives
  seq 1 1000 | bloomery build --rate 1% -o numbers.blm

  # which of these lines may be in it
  seq 990 1010 | bloomery check numbers.blm

  bloomery <command> --help shows more of them.`,
    );
}

/** Set by build.mjs, because the built command lies next to another manifest. */
declare const __BLOOMERY_VERSION__: string | undefined;

function version(): string {
  if (typeof __BLOOMERY_VERSION__ === 'string') return __BLOOMERY_VERSION__;
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}
