/**
 * `bloomery papers`: reproduces the papers. The reproduction itself is `apps/papers`. This file
 * holds its options, and what it needs from the command: the screen, standard output, and files
 * that are written completely or not at all.
 *
 * Exit code 1 says that a measurement lies more than five standard deviations from its theory.
 */

import { availableParallelism } from 'node:os';
import {
  type Host,
  PARTS,
  type PapersOptions,
  reproduce,
  TRIALS_IN_DOCUMENTS,
  TRIALS_ON_SCREEN,
} from '@bloomery/papers';
import type { Command } from 'commander';
import { parseCount, withExamples, withForce, withJson } from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { formatCount } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { write } from '../terminal/standard-output.ts';
import { colors, isTerminal, terminalWidth } from '../terminal/terminal.ts';
import { threadFile } from '../thread-file.ts';

type Options = Omit<PapersOptions, 'jobs'> & Partial<Pick<PapersOptions, 'jobs'>>;

export function register(program: Command): void {
  const command = program
    .command('papers')
    .description('recompute the tables, figures and simulations of the papers, beside what they print')
    .argument('[parts...]', `which of them: ${PARTS.map(({ name }) => name).join(', ')} (default: all)`)
    .option('--list', 'list the parts and end')
    .option(
      '--trials <n>',
      `filters of each simulation; the other experiments take a fixed share (default: ${TRIALS_ON_SCREEN} on the screen and for --json, ` +
        `${formatCount(TRIALS_IN_DOCUMENTS)} for --markdown, --figures and --page; the paper: 100,000)`,
      parseCount(10),
    )
    .option('--seed <n>', 'other hash functions, other samples', parseCount(0), 0)
    .option('--jobs <n>', 'threads (default: one for each processor)', parseCount(1))
    .option('--markdown <file>', 'write the document as Markdown; - is standard output')
    .option('--figures <dir>', 'write the figures as SVG files')
    .option('--page <file>', 'write the document as one HTML page, figures inside; - is standard output')
    .action(run);
  withJson(withForce(command, 'files that exist already'));
  command.addHelpText(
    'after',
    '\nThe exit code is 1 if a measurement lies outside five standard deviations of its theory.',
  );
  withExamples(command, [
    ['bloomery papers', 'everything, with few trials'],
    [
      'bloomery papers simulations --trials 10k',
      'the five simulations of Compressed Bloom Filters, more exactly',
    ],
    ['bloomery papers --page papers.html', 'a page to keep: minutes'],
    ['bloomery papers survey --json | jq .within', 'did the survey hold?'],
  ]);
}

async function run(names: readonly string[], options: Options): Promise<void> {
  const { jobs = availableParallelism(), json } = options;
  const host: Host = {
    screen: () => ({ colors: colors(1), width: terminalWidth(), folds: isTerminal(1) }),
    write: (text) => write(text),
    startProgress: (what, total) => startProgress({ what, total, unit: 'steps', enabled: json !== true }),
    checkFile: checkTarget,
    writeFile: (path, text, settings) => writeTarget(path, Buffer.from(text), settings),
    workerFile: threadFile('papers-worker'),
  };
  if (!(await reproduce(names, { ...options, jobs }, host))) process.exitCode = NOT_FOUND;
}
