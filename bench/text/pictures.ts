/**
 * `npm --prefix bench run text-pictures`: draws the pictures of docs/guide/text.md. Two are plots
 * of bench/results/text-search.json and text-schemes.json, which bench:text-search and bench:text
 * write with `--json`. The third shows a search in real blocks: 40 of a log with trace ids, the
 * rows of the first grams of one id, and the blocks that are left.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plot, type Series, svgFile } from '@bloomery/papers/drawing';
import { createGramScanner, DEFAULT_SCHEME, needleBits } from '../../packages/stores/dist/text/index.js';
import { corpusOf } from './corpora.ts';
import { searchPicture } from './search-picture.ts';

const FIGURES = fileURLToPath(new URL('../../docs/guide/figures/', import.meta.url));

function resultOf<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../results/${name}.json`, import.meta.url), 'utf8')) as T;
}

interface SearchResult {
  readonly raw: number;
  readonly measured: readonly { needle: string; program: string; cpu: number; wall: number }[];
}

/** The lower end of the axis. */
const LEAST_SECONDS = 0.05;

/** Processor time of a search for a trace id, by program. */
function searchPlot({ raw, measured }: SearchResult): Plot {
  const rows = measured.filter(({ needle }) => needle === 'trace id');
  const series = (name: string, has: (program: string) => boolean, colour: Series['colour']): Series => ({
    name,
    kind: 'bars',
    colour,
    // Bars are as wide as the gaps between them, so the other programs have one of no height.
    points: rows.map(({ program, cpu }, i) => [i + 1, has(program) ? cpu : LEAST_SECONDS] as const),
  });
  const isOurs = (program: string) => program.startsWith('bloomery');
  return {
    title: `A trace id in ${(raw / 1e9).toFixed(0)} GB of logs: processor time`,
    x: {
      label: 'gzip files (zstd for zstdgrep), or the same logs as plain files in memory',
      scale: 'linear',
      from: 0.5,
      to: rows.length + 0.5,
      ticks: rows.map((_, i) => i + 1),
      format: (i) => rows[i - 1].program.replace('bloomery grep', 'bloomery'),
    },
    y: {
      label: 'seconds',
      scale: 'log',
      from: LEAST_SECONDS,
      to: 20,
      ticks: [LEAST_SECONDS, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20],
    },
    series: [
      series('bloomery grep, with an index', isOurs, 0),
      series('programs that read everything', (program) => !isOurs(program), 1),
    ],
  };
}

interface SchemeResult {
  readonly corpus: string;
  readonly outcomes: readonly {
    scheme: string;
    percent: number;
    rates: Readonly<Record<string, number>>;
  }[];
}

/** Schemes of the plot. The others lie between them. */
const SHOWN: readonly [scheme: string, kind: Series['kind'], colour: Series['colour']][] = [
  ['5', 'rings', 1],
  ['6', 'rings', 2],
  ['7', 'rings', 3],
  ['5 + 8 at digits', 'rings', 4],
  ['5 + 8 in runs (default)', 'dots', 0],
  ['5 + 8 in runs, 1/3 full (--precise)', 'dots', 3],
];
/** Rates below this are drawn at it: the axis has no zero. */
const LEAST = 0.05;

function schemePlot(results: readonly SchemeResult[]): Plot {
  return {
    title: 'Size of the index and false blocks for addresses',
    x: {
      label: 'index, % of the text; one point for each log with addresses',
      scale: 'linear',
      from: 0,
      to: 14,
      ticks: [0, 2, 4, 6, 8, 10, 12, 14],
    },
    y: {
      label: 'false blocks, %',
      scale: 'log',
      from: LEAST,
      to: 100,
      ticks: [LEAST, 0.1, 1, 5, 10, 100],
      format: (value) => (value === LEAST ? `≤ ${value}` : String(value)),
    },
    series: SHOWN.map(([scheme, kind, colour]) => ({
      name: `grams of ${scheme}`,
      kind,
      colour,
      points: results.flatMap(({ outcomes }) =>
        outcomes
          .filter((one) => one.scheme === scheme && one.rates.addresses !== undefined)
          .map(({ percent, rates }) => [percent, Math.max(LEAST, rates.addresses)] as const),
      ),
    })),
    marks: [
      { x: 6, label: 'promised: 6 %', anchor: 'end' },
      { x: 11, label: 'with --precise: 11 %', anchor: 'end', line: 1 },
    ],
  };
}

const BLOCKS = 40;
const ROWS = 8;

function skipPicture(): string {
  const { text } = corpusOf('JSON with trace ids', 16e6);
  const scanner = createGramScanner(DEFAULT_SCHEME);
  const columns: Uint8Array[] = [];
  const starts: number[] = [];
  for (let at = 0; columns.length < BLOCKS; ) {
    starts.push(at);
    at = scanner.scan(text, at, 4 << 20);
    columns.push(scanner.take());
  }
  const middle = text.toString('latin1', starts[23], starts[24]);
  const needle = /"trace_id":"([0-9a-f]{32})"/.exec(middle.slice(middle.length / 2))![1];
  const has = (column: Uint8Array, bit: number) => ((column[bit >>> 3] >>> (bit & 7)) & 1) === 1;
  const bits = needleBits(Buffer.from(needle), DEFAULT_SCHEME);
  const rows = bits.slice(0, ROWS).map((bit, i) => ({
    gram: needle.slice(i, i + DEFAULT_SCHEME.gram),
    bits: columns.map((column) => has(column, bit)),
  }));
  const left = columns.map((column) => bits.every((bit) => has(column, bit)));
  const holds = columns.map((_, i) =>
    text.toString('latin1', starts[i], starts[i + 1] ?? starts[i] + 4000).includes(needle),
  );
  return searchPicture({ needle, grams: bits.length, rows, left, holds });
}

mkdirSync(FIGURES, { recursive: true });
const pictures = {
  'text-blocks': skipPicture(),
  'text-schemes': svgFile(schemePlot(resultOf('text-schemes'))),
  'text-search': svgFile(searchPlot(resultOf('text-search'))),
};
for (const [name, svg] of Object.entries(pictures)) writeFileSync(join(FIGURES, `${name}.svg`), svg);
