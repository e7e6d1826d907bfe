/** Survey 2.4: a filter, and its half. */

import { rateAsymptotic, rateTrue } from 'bloomery/math';
import { type Compare, compareMean, rateSpread } from '../findings/comparison.ts';
import { digits, measured, percent } from '../findings/numbers.ts';
import type { Section } from '../findings/section.ts';
import { fraction, job, N, type Results, resultOf, STRANGERS, type Work } from '../trials/jobs.ts';

export function halvingWork(trials: number): Work[] {
  return [{ job: HALVING, trials: fraction(trials, 25) }];
}

const HALVING = job({ kind: 'halving', bits: 2 ** 17, hashes: 6, keys: N, strangers: STRANGERS });

export function halving(results: Results, compare: Compare): Section {
  const samples = resultOf(results, HALVING);
  const rows = [
    { bits: HALVING.bits, rate: samples.rate('positives') },
    { bits: HALVING.bits / 2, rate: samples.rate('positivesOfHalf') },
  ].map(({ bits, rate }) => {
    const exact = rateTrue(bits, HALVING.hashes, N);
    const sigmas = compare(
      compareMean(`halving, ${bits} bits`, rate, exact, rateSpread(bits, HALVING.hashes, N, STRANGERS)),
    );
    return [
      bits.toLocaleString('en'),
      digits(rateAsymptotic(bits, HALVING.hashes, N)),
      digits(exact),
      measured(rate),
      sigmas,
    ];
  });
  return {
    title: 'Survey 2.4: halving',
    text: [
      'A filter of 2^17 bits, k = 6, 10,000 elements, and its half. The survey ORs the first and the second half of the array and drops ' +
        'the highest bit of an index. Indices here are scaled rather than masked, so neighbours are ORed and the lowest bit is ' +
        `dropped: the same thing. The half is bit for bit the filter of half the size in ${percent(
          samples.share('same', (same) => same === 1),
          0,
        )} of ` +
        `${samples.trials.toLocaleString('en')} trials.`,
    ],
    tables: [{ head: ['bits', 'f', 'exact', 'measured', 'σ'], rows }],
  };
}
