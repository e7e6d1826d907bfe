/**
 * Plots of simulated fleets: where answers came from under each policy, and the share of the origin
 * over time when nodes are replaced.
 */

import type { Plot, Series } from '@bloomery/papers/drawing';
import type { PolicyRun } from './fleet-table.ts';

/**
 * Bars for each policy. The second bar stands in front of the first, so what is seen of the first
 * is the share of the neighbours, and the rest up to 100 % is the origin's.
 */
export function sourcesPlot(runs: readonly PolicyRun[]): Plot {
  const bars = (name: string, colour: Series['colour'], share: (run: PolicyRun) => number): Series => ({
    name,
    kind: 'bars',
    colour,
    points: runs.map((run, i) => [i + 1, 100 * share(run)] as const),
  });
  return {
    title: 'Where answers come from; the rest up to 100 % is from the origin',
    x: {
      label: 'policy',
      scale: 'linear',
      from: 0.4,
      to: runs.length + 0.6,
      ticks: runs.map((_, i) => i + 1),
      format: (i) => runs[i - 1].name,
    },
    y: percentAxis('requests', 100),
    series: [
      bars(
        'a neighbour (above) ',
        1,
        ({ result }) => (result.localHits + result.neighbourHits) / result.requests,
      ),
      bars('the own cache', 2, ({ result }) => result.localHits / result.requests),
    ],
  };
}

/** The share of the origin over the requests, with the moment of the replacement. */
export function shockPlot(runs: readonly PolicyRun[], share: number): Plot {
  const series = runs.map(
    ({ name, result }, i): Series => ({
      name,
      kind: i < COLOURS ? 'line' : 'dashed',
      colour: (i % COLOURS) as Series['colour'],
      points: result.series.map(({ requests, originShare }) => [requests, 100 * originShare] as const),
    }),
  );
  const highest = Math.max(...series.flatMap(({ points }) => points.map(([, y]) => y)));
  const last = Math.max(...runs.map(({ result }) => result.requests));
  return {
    title: `Fetches from the origin when ${Math.round(100 * share)} % of the nodes are replaced by empty ones`,
    x: {
      label: 'requests',
      scale: 'linear',
      from: 0,
      to: last,
      ticks: [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * last)),
      format: (value) => value.toLocaleString('en-US'),
    },
    y: percentAxis('fetched from the origin', Math.min(100, Math.ceil(highest / 10) * 10)),
    series,
    marks: [{ x: last / 2, label: 'replaced' }],
  };
}

function percentAxis(label: string, to: number): Plot['y'] {
  const step = to > 50 ? 20 : 10;
  return {
    label,
    scale: 'linear',
    from: 0,
    to,
    ticks: Array.from({ length: Math.floor(to / step) + 1 }, (_, i) => i * step),
    format: (value) => `${value} %`,
  };
}

/** A plot has five colours. */
const COLOURS = 5;
