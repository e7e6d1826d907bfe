import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { BloomFilter } from 'bloomery';
import { expect, test } from 'vitest';
import { chooseRecoded, surelyNew } from '../codes/recode.ts';
import {
  bestRecodingDegree,
  filteredShare,
  MOST_RECODED,
  recodedUsefulShare,
  usefulShare,
} from './recoding.ts';

const CONTAINMENTS = [0.1, 0.5, 0.8, 0.95];
const SENT = 20_000;

/** Ids 0 to 20,000, the symbols of a sender, of which the receiver has each with probability c. */
function overlap(c: number, seed: number) {
  const random = new Random(seed);
  const held = Array.from({ length: SENT }, (_, id) => id);
  const receiver = new Set(held.filter(() => random.bits() / 2 ** 32 < c));
  return { held, receiver, random: () => random.bits() / 2 ** 32 };
}

test.each(CONTAINMENTS)('a random symbol is new with probability 1 - c, for c = %d', (c) => {
  const { held, receiver } = overlap(c, 17);
  const fresh = held.filter((id) => !receiver.has(id)).length;
  expectBinomial(fresh, SENT, usefulShare(c), 'new symbols');
});

test.each(CONTAINMENTS)('with a filter the sender finds (1 - f)(1 - c), for c = %d', (c) => {
  for (const falsePositiveRate of [0.01, 0.1]) {
    const { held, receiver } = overlap(c, 18);
    const filter = BloomFilter.forCapacity({ capacity: receiver.size, falsePositiveRate });
    for (const id of receiver) filter.add(id);
    const sent = surelyNew(held, filter);
    expect(sent.filter((id) => receiver.has(id))).toEqual([]);
    const rate = filter.estimatedFalsePositiveRate();
    expectBinomial(sent.length, SENT, filteredShare(c, rate), `symbols sent at rate ${rate}`);
  }
});

test.each(CONTAINMENTS)(
  'a recoded symbol is useful at once as often as the formula says, for c = %d',
  (c) => {
    for (const degree of [1, 2, 5, bestRecodingDegree(c)]) {
      const { held, receiver, random } = overlap(c, 19);
      const trials = withEffort(20_000, 5000);
      let useful = 0;
      for (let trial = 0; trial < trials; trial++) {
        let unknown = 0;
        for (let i = 0; i < degree; i++) if (!receiver.has(held[Math.floor(random() * SENT)])) unknown++;
        if (unknown === 1) useful++;
      }
      // The receiver's own share, not c, is what its symbols are drawn by.
      expectBinomial(useful, trials, recodedUsefulShare(receiver.size / SENT, degree), `degree ${degree}`);
    }
  },
);

test.each(CONTAINMENTS)(
  'chooseRecoded takes different symbols, evenly, at the best degree, for c = %d',
  (c) => {
    const random = new Random(23);
    const held = Array.from({ length: 500 }, (_, id) => 7 * id);
    const degree = bestRecodingDegree(c);
    const rounds = withEffort(4000, 1000);
    const counts = new Map(held.map((id) => [id, 0]));
    for (let round = 0; round < rounds; round++) {
      const ids = chooseRecoded(held, { containment: c, random: () => random.bits() / 2 ** 32 });
      expect(new Set(ids).size).toBe(degree);
      for (const id of ids) counts.set(id, (counts.get(id) as number) + 1);
    }
    for (const id of [0, 7, 3493]) expectBinomial(counts.get(id) as number, rounds, degree / 500, `id ${id}`);
  },
);

test('bestRecodingDegree is the greatest of the formula, near -1/ln(c)', () => {
  for (let c = 0.005; c < 1; c += 0.005) {
    const best = bestRecodingDegree(c);
    for (let degree = 1; degree <= MOST_RECODED; degree++)
      expect(recodedUsefulShare(c, best)).toBeGreaterThanOrEqual(recodedUsefulShare(c, degree) * (1 - 1e-12));
    if (best < MOST_RECODED && best > 1) expect(Math.abs(best + 1 / Math.log(c))).toBeLessThan(1);
  }
  expect(bestRecodingDegree(0)).toBe(1);
  expect(bestRecodingDegree(1)).toBe(MOST_RECODED);
  expect(bestRecodingDegree(1, 8)).toBe(8);
});

test('chooseRecoded gives nothing without symbols, and all of a few', () => {
  const random = () => 0.999;
  expect(chooseRecoded([], { random })).toEqual([]);
  expect(chooseRecoded([5], { containment: 0.99, random })).toEqual([5]);
  expect(chooseRecoded([5, 6, 7], { containment: 0.99, random }).sort()).toEqual([5, 6, 7]);
});
