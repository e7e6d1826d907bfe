/**
 * The command `bloomery` with all its commands. Each is loaded when it is asked for.
 * grep-main.ts is the same program with one command, in one file.
 */

import type { Command } from 'commander';
import { COMMANDS } from './commands/commands.ts';
import { emptyProgram, runProgram } from './program.ts';

/** Runs a command line, without the name of the program. Sets the exit code. */
export async function main(args: readonly string[]): Promise<void> {
  // The version is told before any command is looked at.
  const isVersion = args[0] === '--version' || args[0] === '-V';
  const wanted = args.find((argument) => !argument.startsWith('-'));
  await runProgram(args, async () => (isVersion ? emptyProgram() : await createProgram(wanted)));
}

/**
 * Creates the program with the one command of that name, or with all commands if there is none of
 * that name. Shell completion is generated from all of them.
 */
export async function createProgram(wanted?: string): Promise<Command> {
  const program = emptyProgram();
  // These two need all the other commands.
  const needsAll = wanted === 'completion' || wanted === 'man';
  const one = COMMANDS.filter(({ names }) => !needsAll && names.some((name) => name === wanted));
  const modules = await Promise.all((one.length > 0 ? one : COMMANDS).map(({ load }) => load()));
  // Each command inherits the settings made so far.
  for (const { register } of modules) register(program);
  return program;
}
