/**
 * The command `bloomery`. Commands throw; here an error becomes one line on standard error and exit
 * code 2. A command that answers "no" sets `process.exitCode` to 1 itself.
 */

import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { COMMANDS } from './commands/commands.ts';
import { CLOSED_PIPE, FAILED } from './exit-codes.ts';
import { reportError } from './terminal/error-text.ts';
import { ClosedPipe, write } from './terminal/standard-output.ts';

/** Runs a command line, without the name of the program. Sets the exit code. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    const program = await createProgram(args.find((argument) => !argument.startsWith('-')));
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

/**
 * Creates the program with the one command of that name, or with all commands if there is none of
 * that name. Shell completion is generated from all of them.
 */
export async function createProgram(wanted?: string): Promise<Command> {
  const program = new Command('bloomery')
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
  // These two need all the other commands.
  const needsAll = wanted === 'completion' || wanted === 'man';
  const one = COMMANDS.filter(({ names }) => !needsAll && names.some((name) => name === wanted));
  const modules = await Promise.all((one.length > 0 ? one : COMMANDS).map(({ load }) => load()));
  // Each command inherits the settings made so far.
  for (const { register } of modules) register(program);
  return program;
}

/** Set by build.mjs, because the built command lies next to another manifest. */
declare const __BLOOMERY_VERSION__: string | undefined;

function version(): string {
  if (typeof __BLOOMERY_VERSION__ === 'string') return __BLOOMERY_VERSION__;
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}
