/** Survey 2.5: how often a counter of a counting filter overflows. */

import { counterOverflowBoundOptimal, counterProbability } from 'bloomery/math';
import { type Compare, compareDistance } from '../findings/comparison.ts';
import { digits } from '../findings/numbers.ts';
import type { Section } from '../findings/section.ts';
import { job, type Results, resultOf, type Work } from '../trials/jobs.ts';

export function countersWork(trials: number): Work[] {
  return [{ job: COUNTERS, trials }];
}

/** kn/m = ln 2, the most that the survey's bound allows. */
const COUNTERS = job({ kind: 'counters', bits: 14_427, hashes: 10, keys: 1000, strangers: 0 });

export function overflow(results: Results, compare: Compare): Section {
  const { bits, hashes, keys } = COUNTERS;
  const samples = resultOf(results, COUNTERS);
  const rows = [4, 5, 6, 7, 8, 9, 10, 16].map((j) => {
    const union = bits * counterProbability(bits, hashes, keys, j);
    const share = samples.share('most', (most) => most >= Math.min(j, 15));
    // Counters are nearly independent, so the share is nearly 1 - e^-union.
    const likely = -Math.expm1(-union);
    const error = Math.sqrt((likely * (1 - likely)) / samples.trials);
    if (union < 3 && likely * samples.trials > 20)
      compare(compareDistance(`counters, ${j}`, (share - likely) / error));
    return [
      String(j),
      digits(counterOverflowBoundOptimal(bits, j), 3),
      digits(union, 3),
      digits(likely, 3),
      j === 16 ? `${share} (15 or more)` : digits(share, 3),
    ];
  });
  return {
    title: 'Survey 2.5: overflow of counters',
    text: [
      `A counting filter with 4-bit counters, m = 14,427, k = 10, n = 1000 (kn/m = ln 2), ${samples.trials.toLocaleString('en')} filters: the ` +
        'probability that some counter reaches j. The bound of the survey m·(e·ln2/j)^j; the union bound m·P(c ≥ j) with the exact binomial ' +
        `tail; 1-e^-(that); the share of real filters. At j = 16 the survey prints 1.37e-15·m; the formula gives ${digits(counterOverflowBoundOptimal(1, 16), 4)}·m.`,
    ],
    tables: [{ head: ['j', 'bound', 'm·P(c ≥ j)', '1-e^-…', 'measured'], rows }],
  };
}
