/**
 * The contract about the rate: at capacity it is the one that theory gives, which is at most the
 * one asked for.
 *
 * A filter has its own rate, which depends on where its bits happened to fall; for a handful of
 * keys it varies much from filter to filter. So many filters with different seeds are made, and two
 * things are tested, two-sided at 5 sigma:
 *
 * 1. the false positives of all filters together against theory, where the deviation is that of the
 *    questions (binomial) and that of the filters (their sample variance) together;
 * 2. the false positives of each question against the filter's own rate, which follows from its
 * bits exactly:
 *    this has no variance from the filters and is the sharper test of the probes.
 */

import { EFFORT, QUICK, withEffort } from '@bloomery/testkit/effort';
import { expectCount } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { counterKeys } from '../keys.ts';
import { inBothKernels, type Membership, type Subject } from './subject.ts';

const CAPACITIES = [1, 2, 20, 63, 64, 65, 1e3, 1e5, 1e6];
const RATES = [0.5, 0.1, 0.01, 1e-3, 1e-5];

export interface RateContractOptions<F> {
  /** Another filter of the same size, with another seed where the layout has one. */
  readonly again: (filter: F, seed: number) => F;
  /**
   * Other sizes than the usual ones, for structures whose bits are those of a structure tested in
   * full.
   */
  readonly capacities?: readonly number[];
}

export function rateContract<F extends Membership>(
  subject: Subject<F>,
  { again, capacities = CAPACITIES }: RateContractOptions<F>,
): void {
  inBothKernels(`${subject.name}: false positive rate`, (kernel) => {
    // The two kernels are compared bit for bit elsewhere (test/kernel), so only the full form fills
    // filters of a million keys by the slow one. That was a third of the time of these tests.
    const isSmall = QUICK || (kernel === 'javascript' && EFFORT <= 1);
    const few = isSmall ? capacities.filter((n) => n <= 1e5) : capacities;
    const grid = few.flatMap((n) => RATES.map((p) => [n, p] as const));

    test.each(grid)('%i keys at rate %f', (n, p) => {
      const first = subject.create({ capacity: n, falsePositiveRate: p });
      const theory = subject.theory(first, n);
      expect(theory).toBeLessThanOrEqual(p * (1 + 1e-9));

      const budget = withEffort(kernel === 'wasm' ? 2e6 : 1e5);
      // Large filters are costly to fill, so there are fewer of them below an effort of 1.
      const large = n <= 1e5 ? 6 : 2;
      const small = n > 65 ? 50 : kernel === 'wasm' ? 1000 : 200;
      const filters = n > 1000 ? Math.min(large, withEffort(large)) : small;
      const questions = Math.ceil(budget / filters);
      let found = 0;
      let ownRates = 0;
      let ownSquares = 0;
      let ownVariance = 0;
      for (let seed = 0; seed < filters; seed++) {
        const filter = again(first, seed);
        filter.addMany(counterKeys(n, 0, 2 * seed + 1));
        const own = subject.ownRate?.(filter) ?? filter.estimatedFalsePositiveRate();
        ownRates += own;
        ownSquares += own * own;
        ownVariance += questions * own * (1 - own);
        const answers = filter.hasMany(counterKeys(questions, 0, 2 * seed + 2));
        for (let i = 0; i < questions; i++) found += answers[i];
      }
      const total = filters * questions;
      const mean = ownRates / filters;
      const scatter = (filters / Math.max(1, filters - 1)) * Math.max(0, ownSquares / filters - mean * mean);
      const deviation = Math.sqrt(total * theory * (1 - theory) + filters * questions * questions * scatter);
      expectCount(found, total * theory, deviation, `rate of ${filters} filters, asked ${p}`);
      expectCount(found, questions * ownRates, Math.sqrt(ownVariance) || 1e-9, 'rate of the very filters');
    });
  });
}
