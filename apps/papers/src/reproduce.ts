/**
 * Recomputes every table, figure, bound and simulation of the four texts that the library rests on:
 * what the paper prints, what its formula gives, and what filters built on this machine show.
 *
 * printed.ts holds what the papers print, `bloomery/math` what their formulas give, and trials.ts
 * what is done to measure. One file for each part of the papers makes its report from these three.
 * The forms (terminal, Markdown, page, JSON) are separate.
 *
 * The result depends only on the trials and the seed. It depends neither on the number of threads
 * nor on which parts were asked for.
 */

import { checkDocuments, type DocumentOptions, type FileWriter, writeDocuments } from './documents.ts';
import type { Screen } from './drawing/screen.ts';
import { isTooFar } from './findings/comparison.ts';
import type { Findings, Part, Report } from './findings/section.ts';
import { asJson } from './forms/findings-json.ts';
import { paragraph, partList, reportText, verdictLine } from './forms/terminal-report.ts';
import { chooseParts, PARTS } from './parts.ts';
import { collect, MOST_TRIALS, type Results } from './trials/jobs.ts';
import { TrialPool } from './trials/trial-pool.ts';

export interface PapersOptions extends DocumentOptions {
  /** List the parts, and measure nothing. */
  readonly list?: true;
  /** Filters of each simulation; the other experiments take a fixed share of that. */
  readonly trials?: number;
  readonly seed: number;
  /** Number of threads. */
  readonly jobs: number;
}

/**
 * The program that runs the reproduction: its screen, its output, its files. The reproduction opens
 * no file for writing and asks no terminal itself, so `bloomery papers` writes its documents like
 * every other command: whole, or not at all.
 */
export interface Host extends FileWriter {
  /** Asked again for each part, since the window may have been resized. */
  screen(): Screen;
  /** Writes text to standard output. */
  write(text: string): void;
  /** Shows how far a part has come, out of `total` steps. */
  startProgress(part: string, total: number): { advance(steps: number): void; stop(): void };
  /** The built file of trial-worker.ts. */
  readonly workerFile: URL;
}

/** For reading on the screen: takes seconds. */
export const TRIALS_ON_SCREEN = 500;
/** For documents: takes minutes. */
export const TRIALS_IN_DOCUMENTS = 10_000;

/**
 * Measures the parts with these names, or all of them, and shows them as the options say. Returns
 * whether every measurement lies within five standard deviations of its theory.
 */
export async function reproduce(
  names: readonly string[],
  options: PapersOptions,
  host: Host,
): Promise<boolean> {
  const parts = chooseParts(names);
  if (options.list) {
    host.write(options.json ? jsonLine(parts.map(({ name, what }) => ({ name, what }))) : partList(parts));
    return true;
  }
  const documents = [options.markdown, options.figures, options.page].some((path) => path !== undefined);
  const { seed, trials = documents ? TRIALS_IN_DOCUMENTS : TRIALS_ON_SCREEN } = options;
  if (trials > MOST_TRIALS) {
    throw new RangeError(
      `at most ${MOST_TRIALS.toLocaleString('en')} trials have seeds of their own, got ${trials.toLocaleString('en')}`,
    );
  }
  checkDocuments(parts, options, host);
  const onScreen = !documents && !options.json;
  const pool = new TrialPool({ jobs: options.jobs, seed, workerFile: host.workerFile });
  try {
    const done: { part: Part; report: Report }[] = [];
    let results: Results = new Map();
    if (onScreen) host.write(`${paragraph(introduction(trials, seed), host.screen())}\n`);
    for (const part of parts) {
      results = await measure(pool, part, trials, host);
      const report = part.report(results);
      done.push({ part, report });
      if (onScreen) host.write(`\n${reportText(part, report, host.screen())}\n`);
    }
    const findings: Findings = { trials, seed, whole: parts.length === PARTS.length, parts: done };
    const comparisons = done.flatMap(({ report }) => report.comparisons);
    writeDocuments(findings, names, options, host);
    if (options.json) host.write(jsonLine(asJson(findings, results)));
    else if (onScreen) {
      if (done.length > 1) host.write(`\n${verdictLine(comparisons, host.screen(), 'All parts. ')}\n`);
    } else if (options.markdown !== '-' && options.page !== '-') {
      host.write(`${verdictLine(comparisons, host.screen())}\n`);
    }
    return !comparisons.some(isTooFar);
  } finally {
    await pool.stop();
  }
}

async function measure(pool: TrialPool, part: Part, trials: number, host: Host): Promise<Results> {
  const work = collect(part.work(trials));
  const progress = host.startProgress(part.name, pool.ordersOf(work));
  try {
    return await pool.run(work, () => progress.advance(1));
  } finally {
    progress.stop();
  }
}

function introduction(trials: number, seed: number): string {
  const more =
    trials < TRIALS_IN_DOCUMENTS ? `; --trials 10k is what docs/papers/papers.md has, and takes minutes` : '';
  return (
    `paper | formula | measured here, with ${trials.toLocaleString('en')} trials for each simulation (the paper: 100,000) and seed ${seed}${more}. ` +
    'A value like 0.0216 ± 0.0001 is a mean and its standard error; σ is a distance from theory in standard errors.'
  );
}

function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
