/** Survey 2.1: the rate by three formulas and by measurement, classic and partitioned. */

import { rateAsymptotic, rateExact, ratePartitioned, rateTrue } from 'bloomery/math';
import { type Compare, compareMean, rateSpread } from '../findings/comparison.ts';
import { digits, measured, percent } from '../findings/numbers.ts';
import type { Section } from '../findings/section.ts';
import { filterJob, fraction, N, type Results, resultOf, STRANGERS, type Work } from '../trials/jobs.ts';

export function ratesWork(trials: number): Work[] {
  return RATES.flatMap((shape) => {
    const some = shape.keys < N ? trials : fraction(trials, 25);
    return [classicJob(shape), partitionedJob(shape)].map((one) => ({ job: one, trials: some }));
  });
}

const RATES = [
  { bits: 80_000 - (80_000 % 6), hashes: 6, keys: N, strangers: STRANGERS },
  { bits: 84, hashes: 6, keys: 10, strangers: 1000 },
] as const;

function classicJob(shape: (typeof RATES)[number]) {
  return filterJob(shape);
}

function partitionedJob(shape: (typeof RATES)[number]) {
  return filterJob({ ...shape, partitioned: true });
}

export function rates(results: Results, compare: Compare): Section {
  const rows = RATES.map((shape) => {
    const { bits, hashes, keys } = shape;
    const [classic, partitioned] = [classicJob(shape), partitionedJob(shape)].map((job) =>
      resultOf(results, job).rate(),
    );
    const [truth, slices] = [rateTrue(bits, hashes, keys), ratePartitioned(bits, hashes, keys)];
    // To first order slices scatter as the whole does.
    const spread = rateSpread(bits, hashes, keys, shape.strangers);
    return [
      bits.toLocaleString('en'),
      String(hashes),
      keys.toLocaleString('en'),
      digits(rateAsymptotic(bits, hashes, keys)),
      digits(rateExact(bits, hashes, keys)),
      digits(truth),
      measured(classic),
      compare(compareMean(`rate, m = ${bits}`, classic, truth, spread)),
      digits(slices),
      measured(partitioned),
      compare(compareMean(`partitioned rate, m = ${bits}`, partitioned, slices, spread)),
    ];
  });
  return {
    title: 'Survey 2.1: rates',
    text: [
      "f = (1-e^(-kn/m))^k and f' = (1-(1-1/m)^(kn))^k put the mean fill into a convex function, and so stay below the rate " +
        'that filters have on the average (`rateTrue`, exact): invisible at 10,000 elements, ' +
        `${percent(rateTrue(84, 6, 10) / rateAsymptotic(84, 6, 10) - 1, 0)} at 10. Partitioned: each function has m/k bits of its own, ` +
        '(1-(1-k/m)^n)^k; "always at least as large", says the survey, comparing it with f\'. To first order in 1/m that holds ' +
        'against the exact rate too (it comes down to 1-e^-λ ≤ λ, λ = kn/m).',
    ],
    tables: [
      {
        head: ['m', 'k', 'n', 'f', "f'", 'exact', 'measured', 'σ', 'partitioned', 'measured', 'σ'],
        rows,
        names: 3,
        folds: [8],
      },
    ],
  };
}
