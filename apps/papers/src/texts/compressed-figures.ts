/**
 * Figures 1 and 2 of *compressed*: the rate against k at a given number of bits sent, with and
 * without compression.
 */

import { compressedBits, rateAsymptotic, rateTrue } from 'bloomery/math';
import { type Axis, curve, type Plot, type Point } from '../drawing/plot.ts';
import { type Comparison, compareMean, rateSpread } from '../findings/comparison.ts';
import { digits, measured } from '../findings/numbers.ts';
import type { Figure, Part, Report } from '../findings/section.ts';
import { filterJob, fraction, N, type Results, resultOf, type Work } from '../trials/jobs.ts';

export const compressedFigures: Part = {
  name: 'compressed-figures',
  what: 'figures 1 and 2 of Compressed Bloom Filters: the rate against k at 8 and 16 bits sent',
  files: ['compressed-figure-1.svg', 'compressed-figure-2.svg'],
  work,
  report,
};

interface Setting {
  readonly number: number;
  /** z/n. */
  readonly sent: number;
  readonly hashes: readonly number[];
  readonly x: Axis;
  readonly y: Axis;
}

const K = 'hash functions k';
const F = 'rate of false positives f';

const FIGURES: readonly Setting[] = [
  {
    number: 1,
    sent: 8,
    hashes: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    x: { label: K, scale: 'linear', from: 0, to: 10.5, ticks: [0, 2, 4, 6, 8, 10] },
    y: { label: F, scale: 'linear', from: 0, to: 0.1, ticks: [0, 0.02, 0.04, 0.06, 0.08, 0.1] },
  },
  {
    number: 2,
    sent: 16,
    hashes: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20],
    x: { label: K, scale: 'linear', from: 0, to: 20.5, ticks: [0, 4, 8, 12, 16, 20] },
    y: {
      label: F,
      scale: 'linear',
      from: 0,
      to: 0.002,
      ticks: [0, 0.0005, 0.001, 0.0015, 0.002],
      format: (f) => (f === 0 ? '0' : f.toFixed(4)),
    },
  },
];

function work(trials: number): Work[] {
  return FIGURES.flatMap(({ sent, hashes }) =>
    hashes.flatMap((k) => [standardJob(sent, k), compressedJob(sent, k)]),
  ).map((job) => ({ job, trials: fraction(trials, 50) }));
}

function report(results: Results): Report {
  const comparisons: Comparison[] = [];
  const figures: Figure[] = [];
  const rows: string[][] = [];
  for (const figure of FIGURES) {
    const { sent, hashes } = figure;
    const dots: { standard: Point[]; compressed: Point[] } = { standard: [], compressed: [] };
    for (const k of hashes) {
      const cells = (['standard', 'compressed'] as const).map((kind) => {
        const job = kind === 'standard' ? standardJob(sent, k) : compressedJob(sent, k);
        const samples = resultOf(results, job);
        const rate = samples.rate();
        const what = `figure ${figure.number}, ${kind}, k = ${k}`;
        const spread = rateSpread(job.bits, k, N, job.strangers);
        comparisons.push(compareMean(what, rate, rateTrue(job.bits, k, N), spread));
        dots[kind].push([k, rate.mean]);
        return { job, samples, rate };
      });
      const [standard, compressed] = cells;
      rows.push([
        String(figure.number),
        String(k),
        digits(rateAsymptotic(sent * N, k, N), 4),
        measured(standard.rate),
        (compressed.job.bits / N).toFixed(2),
        digits(rateAsymptotic(compressed.job.bits, k, N), 4),
        measured(compressed.rate),
        measured(compressed.samples.summary('payloadBytes', (bytes) => (8 * bytes) / N)),
      ]);
    }
    figures.push({
      file: `compressed-figure-${figure.number}.svg`,
      caption: `Figure ${figure.number} of compressed: f against k at ${sent} bits sent per element, standard and compressed`,
      plot: plotOf(figure, dots),
    });
  }
  return {
    comparisons,
    sections: [
      {
        title: 'Figures 1 and 2 of *compressed*',
        text: [
          'The rate against the number of hash functions at 8 and at 16 bits sent per element. Standard: the array is what is sent, m = ' +
            'z. Compressed: for each k the m for which m·H(e^(-kn/m)) = z. The best k of a standard filter, ln 2 · z/n, is the worst of a ' +
            'compressed one; there the two curves touch. Lines are formulas, k continuous as in the paper; points are filters of ' +
            '10,000 elements. At z/n = 16 and k = 1 the array would have 23,000 bits per element; that point is left out.',
        ],
        figures,
        tables: [
          {
            head: [
              'figure',
              'k',
              'standard: f',
              'measured',
              'compressed: m/n',
              'f',
              'measured',
              'coded bits per element',
            ],
            rows,
            names: 2,
            folds: [4, 7],
          },
        ],
      },
    ],
  };
}

/** m/n such that k functions make an array that codes to `sent` bits per element. */
function arrayBits(sent: number, k: number): number {
  const coded = (bits: number) => compressedBits(bits * N, k, N) / N;
  let low = 0.1;
  let high = 1;
  while (coded(high) < sent) high *= 2;
  while (high - low > 1e-12 * high) {
    const middle = (low + high) / 2;
    if (coded(middle) < sent) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function standardJob(sent: number, k: number) {
  return filterJob({ bits: sent * N, hashes: k });
}

function compressedJob(sent: number, k: number) {
  return filterJob({ bits: Math.round(arrayBits(sent, k) * N), hashes: k, code: true });
}

function plotOf({ number, sent, x, y }: Setting, dots: { standard: Point[]; compressed: Point[] }): Plot {
  // From k = 1/4 on: at 0 there is no filter.
  const ks = { ...x, from: 0.25 };
  const best = Math.LN2 * sent;
  return {
    title: `Compressed, figure ${number}: ${sent} bits sent per element`,
    x,
    y,
    marks: [{ x: best, label: `ln 2 · ${sent} = ${best.toFixed(2)}` }],
    series: [
      {
        name: 'standard: formula',
        kind: 'line',
        colour: 0,
        points: curve(ks, (k) => rateAsymptotic(sent, k, 1)),
      },
      { name: 'standard: measured', kind: 'dots', colour: 0, points: dots.standard },
      {
        name: 'compressed: formula',
        kind: 'line',
        colour: 1,
        points: curve(ks, (k) => rateAsymptotic(arrayBits(sent, k), k, 1)),
      },
      { name: 'compressed: measured', kind: 'dots', colour: 1, points: dots.compressed },
    ],
  };
}
