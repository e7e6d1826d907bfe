/**
 * Figures 1 and 2 of *tutorial*: the rate against k at 32 bits per entry; bits per entry against
 * the rate.
 */

import {
  bitsAsymptotic,
  optimalHashes,
  rateAsymptotic,
  rateFromOnes,
  rateTrue,
  rateTrueVariance,
} from 'bloomery/math';
import { type Axis, type Colour, curve, type Plot, type Point } from '../drawing/plot.ts';
import { type Comparison, compareMean, rateSpread } from '../findings/comparison.ts';
import { digits, measured } from '../findings/numbers.ts';
import type { Part, Report } from '../findings/section.ts';
import { filterJob, fraction, N, type Results, resultOf, type Work } from '../trials/jobs.ts';

export const tutorial: Part = {
  name: 'tutorial',
  what: 'figures 1 and 2 of the Short Tutorial: the rate at 32 bits per entry; bits per entry for a rate',
  files: ['tutorial-figure-1.svg', 'tutorial-figure-2.svg'],
  work,
  report,
};

const PER_ENTRY = 32;
const HASHES = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32];
const LINES = [2, 4, 8, 16, 32] as const;
const ERROR_RATES = [0.1, 0.01, 0.001, 0.0001];
/** With fewer expected positives a measured rate is mostly noise: the fill is shown instead. */
const ENOUGH = 100;

/** m/n for a rate. */
function bitsPerEntry(k: number, rate: number): number {
  return bitsAsymptotic(k, 1, rate);
}

function work(trials: number): Work[] {
  return [
    ...HASHES.map((k) => ({ job: rateJob(k), trials: fraction(trials, 25) })),
    ...LINES.flatMap((k) =>
      ERROR_RATES.map((rate) => ({ job: sizeJob(k, rate), trials: fraction(trials, 100) })),
    ),
  ];
}

function report(results: Results): Report {
  const comparisons: Comparison[] = [];
  const asked: Point[] = [];
  const filled: Point[] = [];
  const rates = HASHES.map((k) => {
    const samples = resultOf(results, rateJob(k));
    const { bits, strangers } = samples.job;
    const exact = rateTrue(bits, k, N);
    const rate = samples.rate();
    const byFill = samples.summary('ones', (ones) => rateFromOnes(bits, ones, k));
    const enough = exact * strangers * samples.trials >= ENOUGH;
    (enough ? asked : filled).push([k, enough ? rate.mean : byFill.mean]);
    const what = `tutorial, figure 1, k = ${k}`;
    if (enough) comparisons.push(compareMean(what, rate, exact, rateSpread(bits, k, N, strangers)));
    const scatter = Math.sqrt(rateTrueVariance(bits, k, N));
    comparisons.push(compareMean(`${what}: fill`, byFill, exact, scatter));
    return [
      String(k),
      digits(rateAsymptotic(bits, k, N), 4),
      enough ? measured(rate) : '–',
      measured(byFill),
    ];
  });
  const measuredSizes = new Map<number, Point[]>();
  const sizes = LINES.map((k) => [
    String(k),
    ...ERROR_RATES.flatMap((wanted) => {
      const samples = resultOf(results, sizeJob(k, wanted));
      const { bits } = samples.job;
      const rate = samples.rate();
      const what = `tutorial, figure 2, k = ${k}, rate ${wanted}`;
      const spread = rateSpread(bits, k, N, samples.job.strangers);
      comparisons.push(compareMean(what, rate, rateTrue(bits, k, N), spread));
      measuredSizes.set(k, [...(measuredSizes.get(k) ?? []), [rate.mean, bits / N]]);
      return [bitsPerEntry(k, wanted).toFixed(2), measured(rate)];
    }),
    bitsPerEntry(k, 1e-6).toFixed(2),
  ]);
  return {
    comparisons,
    sections: [
      {
        title: 'Figures 1 and 2 of *tutorial*',
        text: [
          `Figure 1: the rate at m/n = 32. The best k is ln 2 · 32 = ${optimalHashes(PER_ENTRY, 1).toFixed(2)}, so 22, as the tutorial says. "By fill" ` +
            'is the mean of (ones/m)^k over real filters: the rate that each of them has, without asking. Where asking would give fewer than ' +
            `${ENOUGH} positives only that is shown.`,
          'The caption says that a further function "does not significantly decrease the error rate when more than 10 hashes are already used". ' +
            'On a linear axis that is what one sees. In figures: from 10 to 11 the rate falls by ' +
            `${Math.round(100 * (1 - rateAsymptotic(32, 11, 1) / rateAsymptotic(32, 10, 1)))} %, from 10 to 22 by a factor of ` +
            `${(rateAsymptotic(32, 10, 1) / rateAsymptotic(32, 22, 1)).toFixed(1)}.`,
        ],
        tables: [
          { head: ['k', 'f', 'measured', 'by fill'], rows: rates },
          {
            head: [
              'figure 2: k',
              ...ERROR_RATES.flatMap((rate) => [`m/n for ${rate}`, 'measured rate']),
              'm/n for 0.000001',
            ],
            rows: sizes,
            folds: [3, 5, 7, 9],
          },
        ],
        figures: [
          {
            file: 'tutorial-figure-1.svg',
            caption: 'Figure 1 of the tutorial: f against k at 32 bits per entry',
            plot: ratePlot(asked, filled),
          },
          {
            file: 'tutorial-figure-2.svg',
            caption: 'Figure 2 of the tutorial: bits per entry against the error rate, for several k',
            plot: sizePlot(measuredSizes),
          },
        ],
        notes: [
          'Figure 2: bits per entry by equation (3), its sign corrected ([errata](errata.md)). "Using 32 keys does not bring significant ' +
            `benefits over using only 8": down to a rate of one in ten thousand 8 functions need fewer bits than 32; at one in a million 32 ` +
            `functions save ${Math.round(100 * (1 - bitsPerEntry(32, 1e-6) / bitsPerEntry(8, 1e-6)))} %.`,
        ],
      },
    ],
  };
}

function rateJob(k: number) {
  return filterJob({ bits: PER_ENTRY * N, hashes: k });
}

function sizeJob(k: number, rate: number) {
  return filterJob({ bits: Math.round(bitsPerEntry(k, rate) * N), hashes: k });
}

function ratePlot(asked: Point[], filled: Point[]): Plot {
  const x: Axis = {
    label: 'hash functions k',
    scale: 'linear',
    from: 0,
    to: 33,
    ticks: [1, 4, 8, 12, 16, 20, 24, 28, 32],
  };
  const y: Axis = {
    label: 'rate of false positives f',
    scale: 'log',
    from: 1e-7,
    to: 0.1,
    ticks: [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    format: power,
  };
  return {
    title: 'Tutorial, figure 1: 32 bits per entry',
    x,
    y,
    marks: [{ x: 22, label: 'k = 22: least' }],
    series: [
      {
        name: 'formula (1 - e^(-k/32))^k',
        kind: 'line',
        colour: 0,
        points: curve({ ...x, from: 1 }, (k) => rateAsymptotic(PER_ENTRY, k, 1)),
      },
      { name: 'measured: other keys asked', kind: 'dots', colour: 1, points: asked },
      { name: 'measured: by the fill of real filters', kind: 'rings', colour: 1, points: filled },
    ],
  };
}

function sizePlot(points: ReadonlyMap<number, Point[]>): Plot {
  const x: Axis = {
    label: 'error rate',
    scale: 'log',
    from: 1e-6,
    to: 0.3,
    ticks: [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    format: power,
  };
  const y: Axis = {
    label: 'bits per entry m/n',
    scale: 'linear',
    from: 0,
    to: 80,
    ticks: [0, 10, 20, 30, 40, 50, 60, 70, 80],
  };
  return {
    title: 'Tutorial, figure 2: bits per entry for an error rate',
    x,
    y,
    series: LINES.flatMap((k, i) => {
      const colour = i as Colour;
      return [
        {
          name: `k = ${k}`,
          kind: 'line',
          colour,
          points: curve(x, (rate) => bitsPerEntry(k, rate)),
        } as const,
        { name: `k = ${k}: measured rate`, kind: 'dots', colour, points: points.get(k) ?? [] } as const,
      ];
    }),
  };
}

function power(value: number): string {
  const exponent = Math.round(Math.log10(value));
  const superscript = [...String(exponent)].map((c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)]));
  return `10${superscript.join('')}`;
}
