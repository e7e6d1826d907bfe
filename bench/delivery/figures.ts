/**
 * `npm run delivery-figures`: the pictures of docs/guide/delivery-codes.md. The first is made from
 * bench/results/delivery-strategies.json, which bench:delivery-strategies writes; the second from
 * the formula of recoding.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { recodedUsefulShare } from '@bloomery/delivery/codes';
import { type Plot, type Series, svgFile } from '@bloomery/papers/drawing';

interface Cell {
  readonly system: string;
  readonly containment: number;
  readonly strategy: string;
  readonly partialSenders: number;
  readonly fullSenders: number;
  readonly sentPerNeeded: number;
  readonly complete: number;
}

const cells = JSON.parse(
  readFileSync(new URL('../results/delivery-strategies.json', import.meta.url), 'utf8'),
) as Cell[];
const LINES: readonly [strategy: string, name: string, colour: Series['colour'], kind: Series['kind']][] = [
  ['random', 'random', 1, 'line'],
  ['random-filter', 'random, with a filter', 2, 'line'],
  ['recode', 'recoded', 0, 'line'],
  ['recode-filter', 'recoded, with a filter', 3, 'dashed'],
];

function sentPlot(): Plot {
  const shown = cells.filter(
    ({ system, partialSenders, fullSenders }) =>
      system === 'compact' && partialSenders === 2 && fullSenders === 0,
  );
  const highest = Math.max(...shown.map(({ sentPerNeeded }) => sentPerNeeded));
  const most = Math.ceil(highest);
  return {
    title: 'Symbols that two partial senders send for each one that lacks',
    x: {
      label: "share of a sender's symbols that the receiver has already",
      scale: 'linear',
      from: 0,
      to: 0.8,
      ticks: [0, 0.2, 0.4, 0.6, 0.8],
    },
    y: {
      label: 'symbols sent',
      scale: 'log',
      from: 1,
      to: most,
      ticks: [1, 2, 5, 10, 20, 50].filter((tick) => tick <= most),
    },
    series: LINES.map(([strategy, name, colour, kind]) => ({
      name,
      kind,
      colour,
      points: shown
        .filter((one) => one.strategy === strategy && one.complete === 1)
        .map(({ containment, sentPerNeeded }) => [containment, sentPerNeeded] as const),
    })),
  };
}

function degreePlot(): Plot {
  const degrees = Array.from({ length: 50 }, (_, i) => i + 1);
  return {
    title: 'Probability that a sum of symbols is useful at once',
    x: { label: 'symbols in the sum', scale: 'log', from: 1, to: 50, ticks: [1, 2, 5, 10, 20, 50] },
    y: { label: 'probability', scale: 'linear', from: 0, to: 0.6, ticks: [0, 0.2, 0.4, 0.6] },
    series: [0.5, 0.8, 0.95].map((c, i) => ({
      name: `the receiver has ${Math.round(100 * c)} %`,
      kind: 'line',
      colour: [0, 1, 2][i] as Series['colour'],
      points: degrees.map((degree) => [degree, recodedUsefulShare(c, degree)] as const),
    })),
  };
}

for (const [name, plot] of [
  ['delivery-strategies', sentPlot()],
  ['delivery-degrees', degreePlot()],
] as const) {
  writeFileSync(new URL(`../../docs/guide/figures/${name}.svg`, import.meta.url), svgFile(plot));
  console.log(`docs/guide/figures/${name}.svg written`);
}
