/**
 * How far the estimated overlap of two sets of 200 keys with 100 in common is off, by the noise and
 * by the number of hashes. One set is known exactly, the other one is a randomised filter.
 */

import { SeededRandom } from '../../packages/overlay/dist/private/attack/seeded-random.js';
import { RandomisedPublisher } from '../../packages/overlay/dist/private/index.js';
import { type Spread, spreadOf } from './attack-rows.ts';

/** Bits and hashes. 1920 bits and 7 hashes are a plain filter of 1 %. */
const SHAPES = [
  [2000, 1],
  [4000, 2],
  [1920, 7],
] as const;
const EPSILONS = [1, 2, 4, 8];

export interface OverlapRow {
  readonly bits: number;
  readonly hashes: number;
  readonly epsilon: number;
  readonly flipProbability: number;
  /** The absolute error of the estimates, in keys. */
  readonly error: Spread;
  /** Share of releases without an estimate: the noise left no zeros to count. */
  readonly without: number;
}

export function overlapRows(rounds: number): OverlapRow[] {
  const random = new SeededRandom(77);
  const keys = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name} ${i}`);
  const own = [...keys('common', 100), ...keys('own', 100)];
  const other = [...keys('common', 100), ...keys('other', 100)];
  return SHAPES.flatMap(([bits, hashes]) =>
    EPSILONS.map((epsilon) => {
      let flipProbability = 0;
      const errors = Array.from({ length: rounds }, () => {
        const filter = new RandomisedPublisher({
          bits,
          hashes,
          epsilon,
          budget: epsilon,
          noiseSecret: random.bytes(16),
          salt: random.bytes(16),
        }).release(other);
        flipProbability = filter.flipProbability;
        return Math.abs(filter.overlapWith(own).value - 100);
      });
      const finite = errors.filter(Number.isFinite);
      const without = 1 - finite.length / rounds;
      return { bits, hashes, epsilon, flipProbability, error: spreadOf(finite), without };
    }),
  );
}
