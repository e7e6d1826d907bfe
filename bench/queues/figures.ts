/**
 * `npm run queues-figures`: the pictures of docs/guide/queues.md. The plots are made from
 * bench/results/queues.json and queues-real.json, which bench:queues and bench:queues-real write.
 * The picture of the bins shows the places that a `BinSet` really gives to flows.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { type Plot, type Series, svgFile } from '@bloomery/papers/drawing';
import { binsPicture } from './bins-picture.ts';

interface Row {
  readonly load: string;
  readonly ecn: boolean;
  readonly udpBits: number;
  readonly queue: string;
  readonly share: number;
  readonly delayMs: number;
}

const rowsOf = (name: string) =>
  JSON.parse(readFileSync(new URL(`../results/${name}.json`, import.meta.url), 'utf8')) as Row[];
const QUEUES: readonly [queue: string, kind: Series['kind'], colour: Series['colour']][] = [
  ['fifo', 'dashed', 1],
  ['red', 'dashed', 3],
  ['fair', 'dashed', 2],
  ['sfb-linux', 'line', 4],
  ['sfb-survey', 'line', 1],
  ['rates', 'line', 0],
];

function sharePlot(shown: readonly Row[], title: string): Plot {
  const rates = [...new Set(shown.map(({ udpBits }) => udpBits / 1e6))];
  const highest = Math.max(...shown.map(({ share }) => share));
  return {
    title,
    x: {
      label: 'Mbit/s that a flow of UDP sends',
      scale: 'log',
      from: rates[0]!,
      to: rates.at(-1)!,
      ticks: rates,
    },
    y: {
      label: 'fair parts that it gets',
      scale: 'log',
      from: 0.3,
      to: highest,
      ticks: [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 400].filter((tick) => tick <= highest),
    },
    series: QUEUES.map(([queue, kind, colour]) => ({
      name: queue,
      kind,
      colour,
      points: shown
        .filter((row) => row.queue === queue)
        .map(({ udpBits, share }) => [udpBits / 1e6, share] as const),
    })),
  };
}

const simulated = (load: string) => rowsOf('queues').filter((row) => row.load.startsWith(load) && !row.ecn);
const figure = (name: string) => new URL(`../../docs/guide/figures/${name}.svg`, import.meta.url);
writeFileSync(
  figure('queue-many'),
  svgFile(sharePlot(simulated('many'), 'A flow that does not respond, beside 400 connections of TCP')),
);
writeFileSync(
  figure('queue-light'),
  svgFile(sharePlot(simulated('light'), 'The same on a lightly loaded link: 100 connections, 100 to 300 ms')),
);
writeFileSync(
  figure('queue-real'),
  svgFile(
    sharePlot(
      rowsOf('queues-real').filter((row) => !row.ecn),
      'Real TCP: a flow of UDP beside 20 connections of iperf3',
    ),
  ),
);
writeFileSync(figure('queue-bins'), binsPicture());
