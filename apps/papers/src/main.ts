/**
 * The papers as a program of their own, with the options of `bloomery papers` and without the rest
 * of the command. It shows no progress bar, and writes its documents as plain files: a crash can
 * leave half a file behind.
 *
 * Exit codes: 0 if every measurement lies within five standard deviations of its theory, 1 if one
 * does not, 2 after an error, 141 if the reader of standard output closed the pipe.
 */

import { existsSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import pc from 'picocolors';
import { PARTS } from './parts.ts';
import { type Host, type PapersOptions, reproduce } from './reproduce.ts';

/** Runs a command line, without the name of the program. Sets the exit code. */
export async function main(args: readonly string[]): Promise<void> {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 141 : 2));
  try {
    const request = readArguments(args);
    if (request === 'help') HOST.write(HELP);
    else process.exitCode = (await reproduce(request.names, request.options, HOST)) ? 0 : 1;
  } catch (error) {
    process.stderr.write(`papers: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 2;
  }
}

/** The parts and the options of a command line; 'help' if it asks for that. */
export function readArguments(
  args: readonly string[],
): 'help' | { readonly names: readonly string[]; readonly options: PapersOptions } {
  const { values, positionals: names } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      list: { type: 'boolean' },
      trials: { type: 'string' },
      seed: { type: 'string' },
      jobs: { type: 'string' },
      markdown: { type: 'string' },
      figures: { type: 'string' },
      page: { type: 'string' },
      force: { type: 'boolean', short: 'f' },
      json: { type: 'boolean' },
    },
  });
  const { help, list, force, json, markdown, figures, page, trials, seed, jobs } = values;
  if (help) return 'help';
  const options: PapersOptions = {
    seed: seed === undefined ? 0 : readCount('--seed', seed, 0),
    jobs: jobs === undefined ? availableParallelism() : readCount('--jobs', jobs, 1),
    ...(trials === undefined ? {} : { trials: readCount('--trials', trials, 10) }),
    ...(markdown === undefined ? {} : { markdown }),
    ...(figures === undefined ? {} : { figures }),
    ...(page === undefined ? {} : { page }),
    ...(list ? { list } : {}),
    ...(force ? { force } : {}),
    ...(json ? { json } : {}),
  };
  return { names, options };
}

function readCount(option: string, text: string, least: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value) || value < least) {
    throw new RangeError(
      `Cannot read ${option}: a whole number of at least ${least} was expected, got ${text}`,
    );
  }
  return value;
}

const HOST: Host = {
  screen: () => ({ colors: pc, width: process.stdout.columns || 80, folds: process.stdout.isTTY === true }),
  write: (text) => process.stdout.write(text),
  startProgress: () => ({ advance: () => {}, stop: () => {} }),
  checkFile: (path, { force }) => {
    if (path === '-') return;
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw new RangeError(`${path} is a directory; name a file in it`);
    if (found && !force) throw new RangeError(`${path} exists already; --force replaces it`);
    if (!existsSync(dirname(path))) throw new RangeError(`there is no directory ${dirname(path)}`);
  },
  writeFile: (path, text, { force }) => {
    if (path === '-') HOST.write(text);
    else writeFileSync(path, text, { flag: force ? 'w' : 'wx' });
  },
  workerFile: new URL('papers-worker.js', import.meta.url),
};

const HELP = `Usage: papers [parts...] [options]

Recomputes the tables, figures and simulations of the papers, beside what they print.
Parts: ${PARTS.map(({ name }) => name).join(', ')}; all of them if none is named.

  --list             list the parts and end
  --trials <n>       filters of each simulation
  --seed <n>         other hash functions, other samples
  --jobs <n>         threads
  --markdown <file>  write the document as Markdown; - is standard output
  --figures <dir>    write the figures as SVG files
  --page <file>      write the document as one HTML page; - is standard output
  -f, --force        replace files that exist already
  --json             print JSON instead of text
`;
