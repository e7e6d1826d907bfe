import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectNormal } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { bestRecodingDegree } from '../math/recoding.ts';
import { STRATEGIES, simulateTransfer, type TransferSettings } from './partial-transfer.ts';

const BASE = { blocks: 500, partialSenders: 1 } as const;
const COMPACT = 1.1;
const STRETCHED = 1.5;

function runs(count: number, settings: Omit<TransferSettings, 'seed'>) {
  return Array.from({ length: count }, (_, seed) => simulateTransfer({ ...settings, seed: seed + 1 }));
}

describe.each([
  [COMPACT, 0.2],
  [COMPACT, 0.7],
  [STRETCHED, 0.2],
  [STRETCHED, 0.4],
])('in a system of %d blocks with containment %d', (factor, containment) => {
  const settings = { ...BASE, factor, containment };

  /** Transfers that need one symbol, and are given up after one. */
  const x = Math.round((factor * 500) / (2 - containment));
  const oneSymbol = { ...settings, needed: (x + 1) / 500, patience: 1 };

  test('the first random symbol is new with probability 1 - c', () => {
    const all = runs(withEffort(400, 150), { ...oneSymbol, strategy: 'random' });
    const { held } = all[0];
    const share = (Math.round(factor * 500) - held) / held;
    expect(Math.abs(share - (1 - containment))).toBeLessThan(0.01);
    expectBinomial(all.filter(({ first }) => first === 'new').length, all.length, share, 'new at once');
  });

  test('random symbols collect coupons: mean and variance of their number are known', () => {
    const all = runs(withEffort(60, 25), { ...settings, strategy: 'random', patience: 1000 });
    const { held, lacked } = all[0];
    const unknown = Math.round(factor * 500) - held;
    let mean = 0;
    let variance = 0;
    for (let got = 0; got < lacked; got++) {
      const p = (unknown - got) / held;
      mean += 1 / p;
      variance += (1 - p) / p ** 2;
    }
    const average = all.reduce((sum, { sent }) => sum + sent, 0) / all.length;
    expectNormal(average, mean, Math.sqrt(variance / all.length), 'symbols sent');
  });

  test('a filter finds (1 - f)(1 - c) of the symbols, and one sender wastes none of them', () => {
    for (const falsePositiveRate of [0.01, 0.1]) {
      const all = runs(withEffort(30, 15), { ...settings, strategy: 'random-filter', falsePositiveRate });
      const { held } = all[0];
      const unknown = Math.round(factor * 500) - held;
      const offered = all.reduce((sum, one) => sum + one.offered, 0);
      // Filters are made for the rate at capacity, and are at capacity.
      expectBinomial(offered, unknown * all.length, 1 - falsePositiveRate, `offered at ${falsePositiveRate}`);
      for (const one of all) if (one.offered >= one.lacked) expect(one.sent).toBe(one.lacked);
    }
  });

  test('the first recoded symbol is useful as often as the formula says', () => {
    const all = runs(withEffort(400, 150), { ...oneSymbol, strategy: 'recode' });
    const { held } = all[0];
    const unknown = Math.round(factor * 500) - held;
    // The degree follows an estimate; within three deviations of it the share differs little.
    const spread = 3 * Math.sqrt((containment * (1 - containment)) / 128);
    const shares = [-1, 0, 1].map((side) =>
      exactShare(held, unknown, bestRecodingDegree(containment + side * spread)),
    );
    const least = Math.min(...shares);
    const most = Math.max(...shares);
    const useful = all.filter(({ first }) => first === 'new').length;
    const deviation = Math.sqrt(all.length * most * (1 - least));
    expect(useful).toBeGreaterThan(all.length * least - 5 * deviation);
    expect(useful).toBeLessThan(all.length * most + 5 * deviation);
  });
});

/** Probability that of `degree` different symbols of `held` exactly one is among the `unknown`. */
function exactShare(held: number, unknown: number, degree: number): number {
  let share = degree * (unknown / held);
  for (let i = 0; i < degree - 1; i++) share *= (held - unknown - i) / (held - 1 - i);
  return share;
}

test.each(STRATEGIES)('%s completes, and the same seed gives the same run', (strategy) => {
  const settings = { ...BASE, factor: COMPACT, containment: 0.5, strategy, partialSenders: 2, seed: 3 };
  const once = simulateTransfer(settings);
  expect(once.isComplete).toBe(true);
  expect(once.sent).toBeGreaterThanOrEqual(once.lacked);
  expect(simulateTransfer(settings)).toEqual(once);
  expect(simulateTransfer({ ...settings, seed: 4 })).not.toEqual(once);
});

test('in a compact system recoding beats random symbols, and a filter beats both', () => {
  const sent = (strategy: TransferSettings['strategy']) =>
    runs(5, { ...BASE, factor: COMPACT, containment: 0.7, strategy }).reduce((sum, one) => sum + one.sent, 0);
  expect(sent('recode')).toBeLessThan(sent('random'));
  expect(sent('recode-filter')).toBeLessThan(sent('recode'));
  expect(sent('random-filter')).toBeLessThan(sent('recode'));
});

test('a full sender alone sends just the symbols that lack, and a partial one beside it saves rounds', () => {
  const settings = { ...BASE, factor: STRETCHED, containment: 0.3, seed: 1 } as const;
  const alone = simulateTransfer({ ...settings, strategy: 'random', partialSenders: 0, fullSenders: 1 });
  expect(alone.rounds).toBe(alone.lacked);
  expect(alone.first).toBe(null);
  for (const strategy of STRATEGIES) {
    const both = simulateTransfer({ ...settings, strategy, fullSenders: 1 });
    expect(both.rounds).toBeLessThan(alone.rounds);
    expect(both.sent).toBe(2 * both.rounds);
  }
});

test('a transfer that cannot end is given up', () => {
  const result = simulateTransfer({
    ...BASE,
    seed: 1,
    factor: 1,
    containment: 0.5,
    strategy: 'random',
    patience: 3,
  });
  expect(result.isComplete).toBe(false);
  expect(result.sent).toBe(3 * result.lacked);
});
