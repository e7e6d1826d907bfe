/**
 * `npm run delivery-figure`: the picture of docs/guide/delivery.md, from results/delivery.json: the
 * share of the file that each node has, over time.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Series, svgFile } from '@bloomery/papers/drawing';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const { oneMs, curves } = JSON.parse(readFileSync(path('../results/delivery.json'), 'utf8')) as {
  readonly oneMs: number;
  readonly curves: readonly (readonly (readonly [number, number])[])[];
};

const inOrder = [...curves].sort((a, b) => a.at(-1)![0] - b.at(-1)![0]);
const chosen = [inOrder[0], inOrder[inOrder.length >> 1], inOrder.at(-1)!];
const series: Series[] = ['first node', 'a node in the middle', 'last node'].map((name, i) => ({
  name,
  kind: 'line',
  colour: i as 0 | 1 | 2,
  points: chosen[i].map(([ms, share]) => [ms / oneMs, 100 * share] as const),
}));
series.push({
  name: 'one download alone',
  kind: 'line',
  colour: 3,
  points: [
    [0, 0],
    [1, 100],
  ],
});
const end = Math.ceil(4 * Math.max(...chosen.map((curve) => curve.at(-1)![0] / oneMs))) / 4;
writeFileSync(
  path('../../docs/guide/figures/delivery-progress.svg'),
  svgFile({
    title: `Share of the file, ${curves.length} nodes and one origin`,
    x: { label: 'time, in downloads', scale: 'linear', from: 0, to: end, ticks: [0, 0.5, 1, end] },
    y: { label: 'per cent of the file', scale: 'linear', from: 0, to: 100, ticks: [0, 25, 50, 75, 100] },
    series,
  }),
);
