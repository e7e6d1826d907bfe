import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { foldedCounters, hashCounters } from '../sets/hash-counters.ts';
import { CELL } from '../symbols/cell.ts';
import { SymbolSource } from '../symbols/symbol-source.ts';
import { estimateFromCounters, estimateFromSymbols } from './estimate-difference.ts';
import { leftByFilter, planExchange } from './plan-exchange.ts';

const ROUNDS = 41;

function randomWords(random: Random, count: number): Int32Array {
  return Int32Array.from({ length: 2 * count }, () => random.bits());
}

/** Estimates of `d` differences, as parts of d and in rising order. */
function parts(d: number, estimate: () => number): number[] {
  return Array.from({ length: ROUNDS }, () => estimate() / d).sort((a, b) => a - b);
}

test('estimateFromCounters: within 20 % in the median, a factor of 2 in nine of ten, wrapped or not', () => {
  const random = new Random(5);
  for (const count of [16, 64]) {
    for (const d of [10, 100, 5000, 1250 * count]) {
      for (const onlyHere of [d / 2, d]) {
        const found = parts(d, () => {
          const ours = foldedCounters(hashCounters(randomWords(random, onlyHere)), count);
          const theirs = foldedCounters(hashCounters(randomWords(random, d - onlyHere)), count);
          return estimateFromCounters(ours, theirs, onlyHere + 1e5, d - onlyHere + 1e5);
        });
        const label = `${count} counters, d ${d}, ${onlyHere} here: ${found[4]} ${found[20]} ${found[36]}`;
        expect(Math.abs(Math.log(found[20])), label).toBeLessThan(Math.log(1.2));
        expect(found[4], label).toBeGreaterThan(0.5);
        expect(found[36], label).toBeLessThan(2);
      }
    }
  }
});

test('estimateFromCounters finds one difference exactly, and never fewer than the sizes show', () => {
  const random = new Random(6);
  const one = hashCounters(randomWords(random, 1));
  const none = new Uint8Array(64);
  expect(estimateFromCounters(one, none, 10, 9)).toBe(1);
  expect(estimateFromCounters(none, none, 10, 25)).toBe(15);
  expect(estimateFromCounters(none, none, 10, 10)).toBe(1);
});

test('estimateFromSymbols: 1000 symbols correct an estimate that was off by a half', () => {
  const random = new Random(7);
  for (const [d, onlyHere] of [
    [1000, 500],
    [1000, 1000],
    [20_000, 5000],
  ]) {
    const found = parts(d, () => {
      const ours = new SymbolSource(randomWords(random, onlyHere), onlyHere, 5).block(1000);
      const theirs = new SymbolSource(randomWords(random, d - onlyHere), d - onlyHere, 5).block(1000);
      const countAt = (i: number) => ((ours[CELL * i + 3] - theirs[CELL * i + 3]) << 24) >> 24;
      return estimateFromSymbols(1000, countAt, 2 * onlyHere - d, d / 2);
    });
    expect(found[4], `d ${d}`).toBeGreaterThan(0.88);
    expect(found[36], `d ${d}`).toBeLessThan(1.12);
  }
});

test('planExchange: symbols alone below a twentieth of the keys, filters above', () => {
  const plan = (n: number, difference: number) => planExchange(n, n, difference, 0);
  expect(plan(100_000, 100)).toMatchObject({ bitsPerKey: 0, idBytes: 5 });
  expect(plan(100_000, 3000).bitsPerKey).toBe(0);
  const half = plan(100_000, 100_000);
  expect(half.bitsPerKey).toBeGreaterThan(7);
  expect(half.bitsPerKey).toBeLessThan(9);
  expect(half.bytes).toBeLessThan(plan(100_000, 90_000).bytes * 1.1);
  expect(plan(1e9, 1e6).idBytes).toBe(7);
  expect(plan(0, 5).bitsPerKey).toBeLessThan(60);
});

test('leftByFilter: the keys that a filter rejects tell how many differences are left', () => {
  // 1000 keys in 8000 bits with 6 hashes: rate 0.0216. 600 of 1000 keys of the other side passed.
  expect(leftByFilter(6, 8000, 1000, 1000, 600)).toBeCloseTo(0.02158 * 2 * (400 / (1 - 0.02158)), 1); // 4 digits of the rate
  expect(leftByFilter(6, 8000, 1000, 1000, 1000)).toBe(1);
});
