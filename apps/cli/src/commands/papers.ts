/**
 * `bloomery papers`: every table, figure, bound and simulation of the four texts that the library rests on, recomputed here and
 * now: what the paper prints, what its formula gives, what filters made on this machine show.
 *
 * printed.ts holds what the papers say, `bloomery/math` what their formulas give, trials.ts what is done to find out. One
 * file for each part of the papers makes its report of these three; the forms (terminal, Markdown, page, JSON) are apart.
 *
 * The result depends on the trials and the seed and on nothing else: neither on the number of threads nor on which parts were
 * asked for. Exit code 1 says that a measurement lies farther from its theory than five standard deviations.
 */

import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { parseCount, withExamples, withJson } from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { checkDocuments, type DocumentOptions, writeDocuments } from '../papers/documents.ts';
import { collect, MOST_TRIALS, type Results } from '../papers/jobs.ts';
import { asJson } from '../papers/json.ts';
import { chooseParts, PARTS } from '../papers/parts.ts';
import { Pool } from '../papers/pool.ts';
import type { Screen } from '../papers/screen.ts';
import type { Findings, Part, Report } from '../papers/section.ts';
import { paragraph, reportText, verdictLine } from '../papers/terminal-report.ts';
import { isTooFar } from '../papers/verdict.ts';
import { formatCount } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { write, writeJson, writeLine } from '../terminal/standard-output.ts';
import { formatTable } from '../terminal/table.ts';
import { colors, isTerminal, terminalWidth } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

interface Options extends DocumentOptions {
  readonly list?: true;
  readonly trials?: number;
  readonly seed: number;
  readonly jobs?: number;
}

/** To look at: some seconds. */
const TRIALS_ON_SCREEN = 500;
/** To keep: minutes. */
const TRIALS_IN_DOCUMENTS = 10_000;

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
    .option('-f, --force', 'replace files that exist already')
    .action(run);
  withJson(command);
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
  const parts = chooseParts(names);
  if (options.list) return list(parts, options);
  const documents = [options.markdown, options.figures, options.page].some((path) => path !== undefined);
  const trials = options.trials ?? (documents ? TRIALS_IN_DOCUMENTS : TRIALS_ON_SCREEN);
  if (trials > MOST_TRIALS) {
    throw new UsageError(
      `at most ${formatCount(MOST_TRIALS)} trials have seeds of their own, got ${formatCount(trials)}`,
    );
  }
  checkDocuments(parts, options);
  const { seed } = options;
  const onScreen = !documents && !options.json;
  const pool = new Pool({ jobs: options.jobs ?? availableParallelism(), seed });
  try {
    const done: { part: Part; report: Report }[] = [];
    let results: Results = new Map();
    if (onScreen) writeLine(paragraph(introduction(trials, seed), screen()));
    for (const part of parts) {
      results = await measure(pool, part, trials, options);
      const report = part.report(results);
      done.push({ part, report });
      if (onScreen) write(`\n${reportText(part, report, screen())}\n`);
    }
    const findings: Findings = { trials, seed, whole: parts.length === PARTS.length, parts: done };
    const comparisons = done.flatMap(({ report }) => report.comparisons);
    writeDocuments(findings, names, options);
    if (options.json) writeJson(asJson(findings, results));
    else if (onScreen) {
      if (done.length > 1) write(`\n${verdictLine(comparisons, screen(), 'All parts. ')}\n`);
    } else if (options.markdown !== '-' && options.page !== '-')
      writeLine(verdictLine(comparisons, screen()));
    if (comparisons.some(isTooFar)) process.exitCode = NOT_FOUND;
  } finally {
    await pool.stop();
  }
}

/** Asked again for each part, since the window may have been resized. */
function screen(): Screen {
  return { colors: colors(1), width: terminalWidth(), folds: isTerminal(1) };
}

async function measure(pool: Pool, part: Part, trials: number, { json }: Options): Promise<Results> {
  const work = collect(part.work(trials));
  const total = pool.ordersOf(work);
  const progress = startProgress({ what: part.name, total, unit: 'steps', enabled: json !== true });
  try {
    return await pool.run(work, () => progress.advance(1));
  } finally {
    progress.stop();
  }
}

function list(parts: readonly Part[], { json }: Options): void {
  if (json) writeJson(parts.map(({ name, what }) => ({ name, what })));
  else writeLine(formatTable(parts.map(({ name, what }) => [name, what])));
}

function introduction(trials: number, seed: number): string {
  const more =
    trials < TRIALS_IN_DOCUMENTS ? `; --trials 10k is what docs/papers/papers.md has, and takes minutes` : '';
  return (
    `paper | formula | measured here, with ${formatCount(trials)} trials for each simulation (the paper: 100,000) and seed ${seed}${more}. ` +
    'A value like 0.0216 ± 0.0001 is a mean and its standard error; σ is a distance from theory in standard errors.'
  );
}
