/**
 * `npm run papers`: every table, figure, bound and simulation of the four texts, as paper | formula | measured here.
 *
 * printed.ts holds what the papers say, the library's math what their formulas give, trials.ts what is done to find out. One
 * file for each part of the papers makes its tables from these three.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compressedFigures, compressedFiguresWork } from './compressed-figures.ts';
import { compressedTables, compressedTablesWork } from './compressed-tables.ts';
import { asMarkdown, asText, type Comparison, type Section } from './document.ts';
import { collect, type Results } from './jobs.ts';
import { perl, perlWork } from './perl.ts';
import { runAll, type Work } from './pool.ts';
import { simulations, simulationsWork } from './simulations.ts';
import { sizesFigure } from './sizes-figure.ts';
import { survey, surveyWork } from './survey.ts';
import { COLUMNS } from './trials.ts';
import { tutorial, tutorialWork } from './tutorial.ts';

const SOURCES = [
  {
    name: 'compressed',
    what: 'M. Mitzenmacher, Compressed Bloom Filters, IEEE/ACM Transactions on Networking 10(5), 2002',
  },
  {
    name: 'survey',
    what: 'A. Broder, M. Mitzenmacher, Network Applications of Bloom Filters: A Survey, 2004',
  },
  { name: 'tutorial', what: 'M. Ripeanu, A. Iamnitchi, Bloom Filters: Short Tutorial' },
  { name: 'perl', what: 'M. Ceglowski, Using Bloom Filters, perl.com, April 2004' },
] as const;

const HELP = `npm run papers -- [options]

  --trials N         filters of each simulation (default 10000; the paper: 100000); the other experiments take a fixed share
  --quick            200 trials: half a minute, and rough
  --markdown FILE    write the page (docs/papers.md)
  --figures DIR      write the figures as SVG (docs/figures)
  --json FILE        write every mean, deviation and maximum
  --processes N      how many to use (default: one for each processor)
  --help

Tables go to standard output, progress to standard error. The result depends on the number of trials and on nothing else.`;

const { values: options } = parseArgs({
  options: {
    trials: { type: 'string' },
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    figures: { type: 'string' },
    json: { type: 'string' },
    processes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) console.log(HELP);
else await main();

async function main(): Promise<void> {
  const trials = positive('--trials', options.trials) ?? (options.quick ? 200 : 10_000);
  const processes = positive('--processes', options.processes) ?? availableParallelism();
  const results = await measure(trials, processes);
  const page = write(results);
  for (const section of page.sections) console.log(asText(section));
  console.log(summaryOf(page.comparisons));
  if (options.markdown !== undefined) {
    const folder = 'figures/';
    const text = [
      head(trials, page.comparisons),
      ...page.sections.map((section) => asMarkdown(section, folder)),
    ];
    writeFileSync(options.markdown, `${text.join('\n\n')}\n`);
  }
  if (options.figures !== undefined) {
    mkdirSync(options.figures, { recursive: true });
    for (const [name, text] of page.files) writeFileSync(join(options.figures, name), text);
  }
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(asJson(trials, results, page.comparisons), null, 1)}\n`);
  const far = page.comparisons.filter(({ sigmas }) => !(Math.abs(sigmas) <= 5));
  if (far.length > 0) {
    console.error(`More than five standard errors from theory: ${far.map(({ what }) => what).join('; ')}`);
    process.exitCode = 1;
  }
}

async function measure(trials: number, processes: number): Promise<Results> {
  const parts: readonly ((trials: number) => Work[])[] = [
    simulationsWork,
    compressedTablesWork,
    compressedFiguresWork,
    surveyWork,
    tutorialWork,
    perlWork,
  ];
  const started = Date.now();
  let last = 0;
  const results = await runAll(collect(parts.flatMap((part) => part(trials))), processes, (share, job) => {
    const seconds = (Date.now() - started) / 1000;
    const step = process.stderr.isTTY ? 0.3 : 5;
    if (seconds - last < step && share < 1) return;
    last = seconds;
    const text = `[${seconds.toFixed(0).padStart(4)} s] ${(100 * share).toFixed(0)} % ${share < 1 ? job.id : 'done'}`;
    process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text}${share < 1 ? '' : '\n'}` : `${text}\n`);
  });
  return results;
}

interface Page {
  readonly sections: readonly Section[];
  readonly files: ReadonlyMap<string, string>;
  readonly comparisons: readonly Comparison[];
}

function write(results: Results): Page {
  const tables = compressedTables(results);
  const figures = compressedFigures(results);
  const sizes = simulations(results);
  const bounds = survey(results);
  const lines = tutorial(results);
  const article = perl(results);
  const files = new Map([...figures.files, ...lines.files, ['compressed-sizes.svg', sizesFigure(results)]]);
  return {
    files,
    sections: [
      tables.section,
      figures.section,
      sizes.section,
      ...bounds.sections,
      lines.section,
      article.section,
    ],
    comparisons: [tables, figures, sizes, bounds, lines, article].flatMap(({ comparisons }) => comparisons),
  };
}

function head(trials: number, comparisons: readonly Comparison[]): string {
  const { name } = SOURCES[0];
  return [
    '# The papers, recomputed',
    `<!-- Written by \`npm run papers -- --trials ${trials} --markdown ../docs/papers.md --figures ../docs/figures\` in bench/. Do not edit. -->`,
    `Every table, figure, bound and simulation of the four texts this library rests on, as *paper | formula | measured here*, by ` +
      `\`npm run papers\` in [bench/](../bench) with **${trials.toLocaleString('en')} trials** for each simulation (the paper: 100,000) and a fixed share of ` +
      "that for the rest. Formulas are those of [bloomery/math](math.md); what is measured are the library's own filters, hash functions " +
      'and coder. Nothing is random: keys are counters, and trial t has hash seed t (plus a start of its own for each experiment). The same ' +
      'command gives the same page.',
    SOURCES.map(({ name: short, what }) => `- *${short}*: ${what}`).join('\n'),
    `A value like 0.0216 ± 0.0001 is a mean and its standard error. ${summaryOf(comparisons)} Where the printed figures are wrong: ` +
      `[errata](errata.md). The order below is that of *${name}*, then the others.`,
  ].join('\n\n');
}

/** Under the null hypothesis one expects |σ| above 3 once in 370 comparisons. */
function summaryOf(comparisons: readonly Comparison[]): string {
  const worst = comparisons.reduce((a, b) => (Math.abs(b.sigmas) > Math.abs(a.sigmas) ? b : a));
  const squares = comparisons.reduce((sum, { sigmas }) => sum + sigmas ** 2, 0) / comparisons.length;
  return (
    `${comparisons.length} of the measurements have a theory without free parameters; they lie ${Math.sqrt(squares).toFixed(2)} standard errors ` +
    `from it (root mean square; chance alone gives 1), the farthest ${worst.sigmas.toFixed(1)} (${worst.what}).`
  );
}

function asJson(trials: number, results: Results, comparisons: readonly Comparison[]): unknown {
  const experiments = [...results.values()].map((samples) => {
    const { job } = samples;
    const numbers = COLUMNS[job.kind].map((name) => [name, samples.summary(name)]);
    return { ...job, trials: samples.trials, ...Object.fromEntries(numbers) };
  });
  return { trials, comparisons, experiments };
}

function positive(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new RangeError(`${option} must be a positive integer, got ${text}`);
  return value;
}
