/**
 * `reconcile`: finds the keys that one of two sides lacks. The sides are two files here, or a file
 * here and one on another machine, where the same command answers (`--serve`). Between machines it
 * moves about as many bytes as there are differences, times 13, whatever the size of the files.
 * `@bloomery/reconcile` does the work; docs/spec/reconcile.md has the messages.
 *
 * The connection is that of a program that the user names after `--`, such as ssh, so that
 * encryption and authentication are those that the user trusts already. We refused a port of our
 * own: it would need both again.
 *
 * Exit codes are those of diff: 0 the sets are equal, 1 they differ, 2 an error. `--serve` ends
 * with 0 when a session was completed.
 */

import type { PackedKeys } from 'bloomery';
import { type Command, Option } from 'commander';
import { parseBytes, parseCount, parseSeconds, withExamples, withJson } from '../command-options.ts';
import { FOUND, NOT_FOUND } from '../exit-codes.ts';
import { type KeyOptions, withKeyOptions } from '../keys/key-source.ts';
import { compareFiles } from '../reconciling/compare-files.ts';
import { standardConnection, startProgram } from '../reconciling/connection.ts';
import type { KeyDifference } from '../reconciling/key-difference.ts';
import { readKeyFile } from '../reconciling/key-file.ts';
import { printDifference } from '../reconciling/print-difference.ts';
import { BrokenConnection, runSession, type SessionOptions } from '../reconciling/run-session.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { isTerminal } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

interface ReconcileCommandOptions extends KeyOptions {
  readonly onlyHere?: boolean;
  readonly onlyThere?: boolean;
  readonly count?: boolean;
  readonly stats?: boolean;
  readonly serve?: boolean;
  /** False with `--no-keys`. */
  readonly keys: boolean;
  readonly retries: number;
  readonly silence: number;
  readonly maxBytes: number;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('reconcile')
    .description('which keys does each of two files lack, here or on two machines, for few bytes')
    .usage(
      '[options] <here> <there>\n       bloomery reconcile [options] <here> -- <command to the other side>',
    )
    .argument('[files...]', 'two files of keys; or one, and after -- a command whose other end is --serve')
    .addOption(
      new Option('--only-here', 'print only the keys that the other side lacks').conflicts('onlyThere'),
    )
    .option('--only-there', 'print only the keys that are missing here')
    .option('-c, --count', 'print how many keys there are instead of the keys')
    .option('--stats', 'print the method, the bytes and the round trips to standard error')
    .addOption(
      new Option('--serve', 'answer another reconcile on standard input and output').conflicts([
        'onlyHere',
        'onlyThere',
        'count',
        'json',
      ]),
    )
    .option('--no-keys', 'send no keys; the other side learns which of its own are missing here')
    .option('--retries <times>', 'start the command again if the connection breaks', parseCount(0), 0)
    .option('--silence <seconds>', 'give up after a silence in a session; 0: never', parseSeconds, 60)
    .addOption(
      new Option('--max-bytes <size>', 'give up beyond this many bytes in each direction')
        .argParser(parseBytes)
        .default(2 ** 28, '256MiB'),
    )
    .action(run);
  withJson(withKeyOptions(command, { hasCount: true }));
  command.addHelpText('after', HELP);
  withExamples(command, [
    ['bloomery reconcile yesterday.txt today.txt', 'lines of one file alone, without sorting'],
    [
      'bloomery reconcile keys.txt -- ssh host bloomery reconcile --serve keys.txt',
      'the same between two machines',
    ],
    [
      'bloomery reconcile --only-there keys.txt -- ssh host bloomery reconcile --serve keys.txt >> keys.txt',
      'add the keys that are missing here',
    ],
    [
      'find . -type f | bloomery reconcile - -- ssh host "cd backup && find . -type f > list && bloomery reconcile --serve list"',
      'which files does the backup lack?',
    ],
  ]);
}

const HELP = `
Lines of <here> alone begin with <, those of the other side alone with >; --only-here and --only-there print them bare. A key
that comes twice counts once. Exit codes: 0 equal, 1 different, 2 error. The answer is exact: both sides compare a sum of
keyed hashes over all common keys, and it differs by mistake with a probability of 2^-64.

The other side learns the keys that it lacks, and can test guesses about the others. It must be allowed to read the file.`;

async function run(operands: string[], options: ReconcileCommandOptions, command: Command): Promise<void> {
  const { files, words } = operandsOf(operands, command);
  const signals = holdSignals();
  try {
    if (options.serve) await serve(files, words, options, signals.stop);
    else {
      const difference = await compare(files, words, options, signals.stop);
      printDifference(difference, options);
      const equal = difference.onlyHere.length + difference.onlyThereCount === 0;
      process.exitCode = equal ? FOUND : NOT_FOUND;
    }
  } catch (error) {
    // The signal itself ends the process, in `close`.
    if (!signals.stop.aborted) throw error;
  } finally {
    signals.close();
  }
}

/** Files before `--` and the words of a command after it. Commander passes on both in one list. */
function operandsOf(
  operands: readonly string[],
  command: Command,
): { files: string[]; words: string[] | null } {
  const raw = (command.parent as (Command & { rawArgs?: readonly string[] }) | null)?.rawArgs ?? [];
  const at = raw.indexOf('--');
  if (at < 0) return { files: [...operands], words: null };
  const words = raw.slice(at + 1);
  return { files: operands.slice(0, operands.length - words.length), words };
}

async function compare(
  files: readonly string[],
  words: readonly string[] | null,
  options: ReconcileCommandOptions,
  signal: AbortSignal,
): Promise<KeyDifference> {
  if (words === null) {
    const [here, there, ...more] = files;
    if (here === undefined || there === undefined || more.length > 0) {
      throw new UsageError(
        `reconcile compares two files, got ${files.length}; for a file on another machine: bloomery reconcile FILE -- ssh HOST bloomery reconcile --serve FILE`,
      );
    }
    if (here === '-' && there === '-')
      throw new UsageError('only one of the two files can be standard input');
    const keys = await readKeyFile(here, options, signal);
    return compareFiles(keys, await readKeyFile(there, options, signal), signal);
  }
  if (files.length !== 1 || words.length === 0) {
    throw new UsageError(
      'expected one file before -- and a command after it: bloomery reconcile FILE -- ssh HOST bloomery reconcile --serve FILE',
    );
  }
  const keys = await readKeyFile(files[0], options, signal);
  return overProgram(keys, words, options, signal);
}

/** Runs sessions over a program until one is completed, or the retries are used up. */
async function overProgram(
  keys: PackedKeys,
  words: readonly string[],
  options: ReconcileCommandOptions,
  signal: AbortSignal,
): Promise<KeyDifference> {
  const wantsThere = options.keys && !options.onlyHere && !options.count;
  for (let retry = 1; ; retry++) {
    const connection = await startProgram(words);
    try {
      return await runSession(keys, connection, sessionOptions('initiator', wantsThere, options, signal));
    } catch (error) {
      if (!(error instanceof BrokenConnection) || retry > options.retries || signal.aborted) throw error;
      warn(`${error.message}; starting again (${retry} of ${options.retries})`);
    } finally {
      await connection.close();
    }
  }
}

async function serve(
  files: readonly string[],
  words: readonly string[] | null,
  options: ReconcileCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const [file] = files;
  if (file === undefined || files.length > 1 || words !== null)
    throw new UsageError(`--serve takes one file of keys, got ${files.length}`);
  if (file === '-') throw new UsageError('--serve uses standard input for the connection; name a file');
  if (isTerminal(1) || process.stdin.isTTY) {
    throw new UsageError(
      '--serve talks through standard input and output, and one of them is a terminal; the other side starts it: bloomery reconcile FILE -- ssh HOST bloomery reconcile --serve FILE',
    );
  }
  const keys = await readKeyFile(file, { ...options, json: true }, signal);
  const connection = standardConnection();
  try {
    const session = { ...sessionOptions('responder', options.keys, options, signal), showsProgress: false };
    const { cost } = await runSession(keys, connection, session);
    if (options.stats)
      process.stderr.write(`served by ${cost.method}: ${cost.bytesReceived} B in, ${cost.bytesSent} B out\n`);
  } finally {
    await connection.close();
  }
}

function sessionOptions(
  role: SessionOptions['role'],
  exchange: boolean,
  { maxBytes, silence, json }: ReconcileCommandOptions,
  signal: AbortSignal,
): SessionOptions {
  return { role, exchange, maxBytes, silenceMs: 1000 * silence, showsProgress: !json, signal };
}
