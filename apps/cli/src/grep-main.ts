/**
 * The program with `grep` alone. build.mjs makes one file of it, because a search by an index takes
 * a few milliseconds: nearly all of its time is the start of the command.
 */

import { register } from './commands/grep.ts';
import { emptyProgram, runProgram } from './program.ts';

/** Runs a command line, without the name of the program. Sets the exit code. */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(args, async () => {
    const program = emptyProgram();
    register(program);
    return program;
  });
}
