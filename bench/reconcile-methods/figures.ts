/**
 * `npm run reconcile-figures`: draws the plots of docs/guide/reconcile.md from
 * results/reconcile-methods.md, so that the page shows what that run measured.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Plot, type Series, svgFile } from '@bloomery/papers/drawing';

const RESULTS = fileURLToPath(new URL('../results/reconcile-methods.md', import.meta.url));
const FIGURES = fileURLToPath(new URL('../../docs/guide/figures/', import.meta.url));
/** Differences of the plot of times. */
const DIFFERENCES = 100;

type Row = Readonly<Record<string, number>>;

/** The first table below a heading, by names of columns. A cell counts by its first number. */
function rowsBelow(text: string, heading: string): Row[] {
  const [, section = ''] = text.split(`## ${heading}\n`);
  const lines = section.split('\n');
  const start = lines.findIndex((line) => line.startsWith('|'));
  const table = lines.slice(start, lines.indexOf('', start) === -1 ? undefined : lines.indexOf('', start));
  const cells = (line: string) => line.slice(2, -2).split(' | ');
  const names = cells(table[0]);
  return table
    .slice(2)
    .map((line) =>
      Object.fromEntries(
        cells(line).map((cell, i) => [names[i], Number.parseFloat(cell.replaceAll(',', ''))]),
      ),
    );
}

const power = (value: number) =>
  value >= 1e6 ? `${value / 1e6} M` : value >= 1000 ? `${value / 1000} k` : String(value);

function foundPlot(rows: readonly Row[]): Plot {
  const series = (name: string, column: string, colour: Series['colour'], kind: Series['kind']): Series => ({
    name,
    kind,
    colour,
    points: rows.map((row) => [row.d, row[column]] as const),
  });
  const ticks = rows.map(({ d }) => d).filter((d) => Number.isInteger(Math.log10(d)));
  return {
    title: 'Found with the same number of bytes, 100,000 keys on each side',
    x: {
      label: 'differences d',
      scale: 'log',
      from: ticks[0],
      to: ticks[ticks.length - 1],
      ticks,
      format: power,
    },
    y: {
      label: 'share of the differences that is found',
      scale: 'linear',
      from: 0,
      to: 105,
      ticks: [0, 25, 50, 75, 100],
      format: (share) => `${share} %`,
    },
    series: [
      series('exact session', 'exact session', 0, 'line'),
      series('plain Bloom filter', 'plain Bloom', 1, 'line'),
      series('tree', 'tree', 2, 'dashed'),
    ],
  };
}

function timesPlot(rows: readonly Row[]): Plot {
  const shown = rows.filter(({ d }) => d === DIFFERENCES);
  const series = (name: string, column: string, colour: Series['colour'], kind: Series['kind']): Series => ({
    name,
    kind,
    colour,
    points: shown.map((row) => [row.keys, row[column]] as const),
  });
  const times = shown.flatMap((row) => [row['walk, c = 2'], row['exact session']]);
  const ticks = [0.1, 1, 10, 100, 1000, 10_000, 100_000].filter((tick) => tick < 10 * Math.max(...times));
  const sizes = shown.map(({ keys }) => keys);
  return {
    title: `Processor time with ${DIFFERENCES} differences`,
    x: {
      label: 'keys on each side',
      scale: 'log',
      from: sizes[0],
      to: sizes[sizes.length - 1],
      ticks: sizes,
      format: power,
    },
    y: {
      label: 'milliseconds',
      scale: 'log',
      from: ticks[0],
      to: ticks[ticks.length - 1],
      ticks,
      format: power,
    },
    series: [
      series('exact session, both sides', 'exact session', 0, 'line'),
      series('tree: build', 'tree: build', 3, 'line'),
      series('filter: ask all keys', 'Bloom: ask all', 1, 'line'),
      series('tree: walk, c = 2', 'walk, c = 2', 2, 'dashed'),
    ],
  };
}

const text = readFileSync(RESULTS, 'utf8');
const plots = {
  'reconcile-found': foundPlot(rowsBelow(text, 'Found at equal bytes')),
  'reconcile-times': timesPlot(rowsBelow(text, 'Processor time')),
};
for (const [name, plot] of Object.entries(plots)) writeFileSync(`${FIGURES}${name}.svg`, svgFile(plot));
