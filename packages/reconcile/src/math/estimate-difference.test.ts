import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { COARSE, COUNTERS, hashCounters, sketchOf, WHOLE } from '../sets/hash-counters.ts';
import { CELL } from '../symbols/cell.ts';
import { SymbolSource } from '../symbols/symbol-source.ts';
import { estimateFromCounters, estimateFromSketches, estimateFromSymbols } from './estimate-difference.ts';
import { leftByFilter, planExchange } from './plan-exchange.ts';

const ROUNDS = 41;

function randomWords(random: Random, count: number): Int32Array {
  return Int32Array.from({ length: 2 * count }, () => random.bits());
}

/** Estimates of `d` differences, as parts of d and in rising order. */
function parts(d: number, estimate: () => number): number[] {
  return Array.from({ length: ROUNDS }, () => estimate() / d).sort((a, b) => a - b);
}

/** Parts of estimates from sketches of this many bytes. */
function fromSketches(random: Random, bytes: number, d: number, onlyHere: number): number[] {
  return parts(d, () => {
    const ours = sketchOf(hashCounters(randomWords(random, onlyHere)), bytes);
    const theirs = sketchOf(hashCounters(randomWords(random, d - onlyHere)), bytes);
    return estimateFromSketches(ours, theirs, onlyHere + 1e5, d - onlyHere + 1e5);
  });
}

test('estimateFromSketches: coarse ones within a factor of 3 in nine of ten, wrapped or not', () => {
  const random = new Random(5);
  for (const d of [3, 10, 100, 5000, 15_000]) {
    for (const onlyHere of [d >> 1, d]) {
      const found = fromSketches(random, COARSE, d, onlyHere);
      const label = `d ${d}, ${onlyHere} here: ${found[4]} ${found[20]} ${found[36]}`;
      expect(Math.abs(Math.log(found[20])), label).toBeLessThan(Math.log(1.4));
      expect(found[4], label).toBeGreaterThan(0.3);
      expect(found[36], label).toBeLessThan(3);
    }
  }
});

test('estimateFromSketches: whole ones within 16 % in nine of ten, up to 200 differences', () => {
  const random = new Random(8);
  for (const d of [10, 30, 100, 200]) {
    const found = fromSketches(random, WHOLE, d, d / 2);
    const label = `d ${d}: ${found[4]} ${found[20]} ${found[36]}`;
    expect(Math.abs(Math.log(found[20])), label).toBeLessThan(0.06);
    expect(found[4], label).toBeGreaterThan(0.84);
    expect(found[36], label).toBeLessThan(1.16);
  }
  // Where the fine counters have wrapped, the coarse ones tell.
  expect(fromSketches(random, WHOLE, 3000, 1500)[20]).toBeGreaterThan(0.7);
});

test('estimateFromCounters: within 20 % in nine of ten, up to a million differences', () => {
  const random = new Random(9);
  // The sum of so many random numbers is normal, so the counters need no keys.
  const normal = () =>
    Array.from({ length: 12 }, () => random.below(2 ** 20) / 2 ** 20).reduce((a, b) => a + b) - 6;
  for (const d of [1000, 20_000, 300_000, 1_000_000]) {
    const found = parts(d, () => {
      const theirs = Uint8Array.from({ length: COUNTERS }, () => random.below(256));
      const ours = theirs.map((counter) => counter + Math.round(normal() * Math.sqrt(d / COUNTERS)));
      return estimateFromCounters(ours, theirs);
    });
    const label = `d ${d}: ${found[4]} ${found[20]} ${found[36]}`;
    expect(Math.abs(Math.log(found[20])), label).toBeLessThan(0.1);
    expect(found[4], label).toBeGreaterThan(0.8);
    expect(found[36], label).toBeLessThan(1.2);
  }
});

test('estimateFromSketches finds one difference exactly, and never fewer than the sizes show', () => {
  const random = new Random(6);
  const words = randomWords(random, 1);
  for (const bytes of [COARSE, WHOLE]) {
    const one = sketchOf(hashCounters(words), bytes);
    const none = new Uint8Array(bytes);
    expect(estimateFromSketches(one, none, 10, 9)).toBe(1);
    expect(estimateFromSketches(none, none, 10, 25)).toBe(15);
    expect(estimateFromSketches(none, none, 10, 10)).toBe(0);
  }
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
      return estimateFromSymbols(1000, countAt, 2 * onlyHere - d, d / 2, 8);
    });
    expect(found[4], `d ${d}`).toBeGreaterThan(0.88);
    expect(found[36], `d ${d}`).toBeLessThan(1.12);
  }
});

test('planExchange: symbols alone below a twentieth of the keys, filters above', () => {
  const plan = (n: number, difference: number) => planExchange(n, n, difference, 0);
  expect(plan(100_000, 100)).toMatchObject({ bitsPerKey: 0, width: 6 });
  expect(plan(100_000, 3000).bitsPerKey).toBe(0);
  const half = plan(100_000, 100_000);
  expect(half.bitsPerKey).toBeGreaterThan(7);
  expect(half.bitsPerKey).toBeLessThan(9);
  expect(half.bytes).toBeLessThan(plan(100_000, 90_000).bytes * 1.1);
  expect(plan(1e9, 1e6).width).toBe(10);
  expect(plan(0, 5).bitsPerKey).toBeLessThan(60);
});

test('leftByFilter: the keys that a filter rejects tell how many differences are left', () => {
  // 1000 keys in 8000 bits with 6 hashes: rate 0.0216. 600 of 1000 keys of the other side passed.
  expect(leftByFilter(6, 8000, 1000, 1000, 600)).toBeCloseTo(0.02158 * 2 * (400 / (1 - 0.02158)), 1); // 4 digits of the rate
  expect(leftByFilter(6, 8000, 1000, 1000, 1000)).toBe(1);
  // A full filter of a peer that claims 2^48 keys.
  expect(leftByFilter(1, 1, 2 ** 48, 1000, 1000)).toBeLessThan(2 ** 48);
});
