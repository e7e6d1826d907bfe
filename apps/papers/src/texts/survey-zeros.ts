/** Survey 2.1 and the appendix of *compressed*: how far the number of zeros lies from its mean. */

import {
  normalProbability,
  occupancyMean,
  occupancyVariance,
  zeroFractionTailCompressed,
  zeroFractionTailSurvey,
} from 'bloomery/math';
import { type Compare, compareDistance, compareMean } from '../findings/comparison.ts';
import { digits } from '../findings/numbers.ts';
import type { Section } from '../findings/section.ts';
import { filterJob, N, type Results, resultOf, type Work } from '../trials/jobs.ts';

export function zerosWork(trials: number): Work[] {
  return [{ job: ZEROS, trials }];
}

const ZEROS = filterJob({ bits: 80_000, hashes: 6, strangers: 0 });

export function zeros(results: Results, compare: Compare): Section {
  const { bits, hashes } = ZEROS;
  const samples = resultOf(results, ZEROS);
  const mean = occupancyMean(bits, hashes * N);
  const deviation = Math.sqrt(occupancyVariance(bits, hashes * N));
  const ones = samples.summary('ones');
  compare(compareMean('zeros: mean', ones, mean, deviation));
  compare(
    compareDistance('zeros: deviation', (ones.deviation / deviation - 1) * Math.sqrt(2 * samples.trials)),
  );
  const rows = [50, 100, 150, 200, 250, 300, 400].map((distance) => {
    const normal = 2 * normalProbability(-distance / deviation);
    return [
      String(distance),
      digits(zeroFractionTailCompressed(bits, hashes, N, distance / bits), 3),
      digits(zeroFractionTailSurvey(bits, hashes, N, distance / bits), 3),
      digits(normal, 3),
      digits(
        samples.share('ones', (count) => Math.abs(count - mean) > distance),
        3,
      ),
    ];
  });
  return {
    title: 'Survey 2.1 and *compressed*, appendix: how far the zeros stray',
    text: [
      `m = 80,000, k = 6, n = 10,000, ${samples.trials.toLocaleString('en')} filters. P(|X - p'm| > εm): the bound proved in ` +
        '*compressed*, 2e^(-ε²m²/2nk); the one of the survey, 2e^(-2ε²m²/nk); the normal distribution with the exact variance; ' +
        'the share of real filters. A bound above 1 says nothing.',
      `Zeros: expected ${digits(bits - mean, 7)} ± ${digits(deviation, 4)}, measured ${digits(bits - ones.mean, 7)} ± ${digits(ones.deviation, 4)}.`,
    ],
    tables: [{ head: ['εm in bits', 'compressed', 'survey', 'normal', 'measured'], rows }],
    notes: [
      'Both bounds hold. Neither is near: the standard deviation, which is as easy to compute, says far more.',
    ],
  };
}
