/**
 * `npm run routing-figure`: the pictures of docs/guide/routing.md, from results/routing.md and from
 * one simulated network. The network is drawn by `bloomery route simulate --svg`.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Series, svgFile } from '@bloomery/papers/drawing';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const rows = readFileSync(path('../results/routing.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .slice(2, -2)
      .split('|')
      .map((cell) => cell.trim()),
  );
const number = (cell: string) => Number(cell.replaceAll(',', ''));

/** A column of the comparison by the number of nodes, for one rate of change. */
function series(column: number, rate: string): Series[] {
  const cells = rows.filter((row) => row.length === 11 && row[1] === rate);
  const ways = [...new Set(cells.map((row) => row[2]))];
  return ways.map((way, i) => ({
    name: way,
    kind: 'line',
    colour: i as 0 | 1 | 2 | 3,
    points: cells
      .filter((row) => row[2] === way)
      .map((row) => [number(row[0]), number(row[column])] as const),
  }));
}

const nodes = { label: 'nodes', scale: 'log', from: 10, to: 10_000, ticks: [10, 100, 1000, 10_000] } as const;
const figures = {
  'route-bytes': {
    title: 'Bytes that a node sends in a round, 1 % of the objects replaced',
    x: nodes,
    y: { label: 'bytes', scale: 'log', from: 10, to: 1e6, ticks: [10, 100, 1000, 1e4, 1e5, 1e6] },
    series: series(3, '1 %'),
  },
  'route-hops': {
    title: 'Hops of a question, 1 % of the objects replaced in a round',
    x: nodes,
    y: { label: 'hops', scale: 'linear', from: 0, to: 8, ticks: [0, 2, 4, 6, 8] },
    series: series(6, '1 %'),
  },
} as const;

for (const [name, plot] of Object.entries(figures))
  writeFileSync(path(`../../docs/guide/figures/${name}.svg`), svgFile(plot));
