/** The plots of the page about simulated fleets. A plot whose rows have not run is null. */

import type { Plot, Series } from '@bloomery/papers/drawing';
import {
  bytesBetween,
  type Figure,
  localShare,
  lostHits,
  messages,
  neighbourShare,
} from './fleet-figures.ts';
import type { SimulatedRows } from './simulated-rows.ts';

type Colour = Series['colour'];

/** Rows of the bars, and what stands below each. */
const BARS: readonly (readonly [name: string, label: string])[] = [
  ['alone', 'alone'],
  ['ICP', 'ICP'],
  ['Summary Cache', 'Summ. Cache'],
  ['consistent hashing', 'hashing'],
  ['consistent hashing, hot 1/8', 'hashing, hot'],
  ['default settings', 'default'],
  ['copies 10 %', 'copies 10 %'],
  ['single copies', 'single'],
];

function bars(
  rows: SimulatedRows,
  title: string,
  y: Plot['y'],
  parts: readonly [string, Colour, Figure][],
): Plot | null {
  const shown = BARS.filter(([name]) => rows.results('fleet', name).length > 0);
  if (shown.length === 0) return null;
  return {
    title,
    x: {
      label: 'policy',
      scale: 'linear',
      from: 0.4,
      to: shown.length + 0.6,
      ticks: shown.map((_, i) => i + 1),
      format: (i) => shown[i - 1][1],
    },
    y,
    series: parts.map(
      ([name, colour, figure]): Series => ({
        name,
        kind: 'bars',
        colour,
        points: shown.map(([row], i) => [i + 1, rows.mean('fleet', row, figure) ?? 0] as const),
      }),
    ),
  };
}

function percentAxis(label: string, to: number, step: number, digits = 0): Plot['y'] {
  const ticks = Array.from({ length: Math.floor(to / step + 1.001) }, (_, i) => i * step);
  return {
    label,
    scale: 'linear',
    from: 0,
    to,
    ticks,
    format: (share) => `${(100 * share).toFixed(digits)} %`,
  };
}

/** Bars of the sources of answers. The own cache stands in front of both together. */
function sources(rows: SimulatedRows): Plot | null {
  return bars(
    rows,
    '64 nodes: where answers come from; the rest up to 100 % is from the origin',
    percentAxis('requests', 1, 0.2),
    [
      ['a neighbour', 1, (result) => (localShare(result) ?? 0) + (neighbourShare(result) ?? 0)],
      ['the own cache', 2, localShare],
    ],
  );
}

function traffic(rows: SimulatedRows): Plot | null {
  return bars(
    rows,
    '64 nodes: bytes between nodes for each request',
    {
      label: 'kB per request',
      scale: 'linear',
      from: 0,
      to: 40_000,
      ticks: [0, 10_000, 20_000, 30_000, 40_000],
      format: (bytes) => String(bytes / 1000),
    },
    [['objects and messages', 0, bytesBetween]],
  );
}

/** Lines over a number at the end of the rows' names, such as `copies 10 %, 0.3 %`. */
function lines(rows: SimulatedRows, section: string, figure: Figure, number: RegExp): Series[] {
  const families = new Map<string, [number, number][]>();
  for (const name of rows.names(section)) {
    const match = number.exec(name);
    const value = rows.mean(section, name, figure);
    if (match === null || value === null) continue;
    const family = name.slice(0, match.index);
    families.set(family, [...(families.get(family) ?? []), [Number(match[1]), value]]);
  }
  return [...families].map(
    ([name, points], i): Series => ({
      name,
      kind: 'line',
      colour: (i % 5) as Colour,
      points: points.sort(([a], [b]) => a - b),
    }),
  );
}

function thresholds(rows: SimulatedRows): Plot | null {
  const series = lines(rows, 'thresholds', lostHits, /, ([\d.]+) %$/);
  if (series.length === 0) return null;
  const most = Math.max(...series.flatMap(({ points }) => points.map(([, y]) => y)));
  const step = most > 0.04 ? 0.02 : most > 0.01 ? 0.005 : 0.002;
  return {
    title: '16 nodes: hits that are lost because updates wait',
    x: {
      label: 'threshold: new objects before an update, in %',
      scale: 'log',
      from: 0.1,
      to: 10,
      ticks: [0.1, 0.3, 1, 3, 10],
    },
    y: percentAxis('lost hits, of all requests', Math.ceil(most / step) * step, step, 1),
    series,
  };
}

function growth(rows: SimulatedRows): Plot | null {
  const series = lines(rows, 'growth', messages, /, (\d+)$/).map((one) => ({
    ...one,
    points: one.points.filter(([, y]) => y > 0),
  }));
  const drawn = series.filter(({ points }) => points.length > 0);
  if (drawn.length === 0) return null;
  return {
    title: 'Messages by the number of nodes',
    x: { label: 'nodes', scale: 'log', from: 4, to: 256, ticks: [4, 16, 64, 256] },
    y: {
      label: 'messages per request',
      scale: 'log',
      from: 0.01,
      to: 1000,
      ticks: [0.01, 0.1, 1, 10, 100, 1000],
    },
    series: drawn,
  };
}

function shock(rows: SimulatedRows): Plot | null {
  const names = rows.names('shock');
  if (names.length === 0) return null;
  const series = names.map(
    (name, i): Series => ({
      name,
      kind: i < 5 ? 'line' : 'dashed',
      colour: (i % 5) as Colour,
      points: rows
        .results('shock', name)[0]
        .series.map(({ requests, originShare }) => [requests, originShare] as const),
    }),
  );
  const points = series.flatMap((one) => one.points);
  const [last, most] = [Math.max(...points.map(([x]) => x)), Math.max(...points.map(([, y]) => y))];
  return {
    title: '16 nodes: a quarter of them is replaced by empty ones',
    x: {
      label: 'requests',
      scale: 'linear',
      from: 0,
      to: last,
      ticks: [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * last)),
      format: (count) => count.toLocaleString('en-US'),
    },
    y: percentAxis('fetched from the origin', Math.ceil(most * 10) / 10, 0.1),
    series,
    marks: [{ x: last / 2, label: 'replaced' }],
  };
}

/** The plots by the names of their files. */
export const PLOTS: Readonly<Record<string, (rows: SimulatedRows) => Plot | null>> = {
  'simulation-sources': sources,
  'simulation-traffic': traffic,
  'simulation-thresholds': thresholds,
  'simulation-growth': growth,
  'simulation-shock': shock,
};
