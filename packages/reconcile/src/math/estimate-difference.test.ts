import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { CELL } from '../symbols/cell.ts';
import { SymbolSource } from '../symbols/symbol-source.ts';
import { estimateDifference } from './estimate-difference.ts';
import { planExchange } from './plan-exchange.ts';

/** Estimates from 64 symbols of `d` differing keys, in rising order, as parts of d. */
function estimates(random: Random, d: number, onlyHere: number): number[] {
  const one = () => {
    const words = (count: number) => Int32Array.from({ length: 2 * count }, () => random.bits());
    const ours = new SymbolSource(words(onlyHere), onlyHere, 5).block(64);
    const theirs = new SymbolSource(words(d - onlyHere), d - onlyHere, 5).block(64);
    const countAt = (i: number) => ((ours[CELL * i + 3] - theirs[CELL * i + 3]) << 24) >> 24;
    return estimateDifference({ size: 64, countAt, balance: 2 * onlyHere - d, most: 1e6 }) / d;
  };
  return Array.from({ length: 15 }, one).sort((a, b) => a - b);
}

test('estimateDifference: 64 symbols give the difference within 30 % in the median, a factor of 2 in most', () => {
  const random = new Random(5);
  for (const d of [50, 500, 5000, 20_000]) {
    for (const onlyHere of [d / 2, d]) {
      const parts = estimates(random, d, onlyHere);
      expect(Math.abs(Math.log(parts[7])), `d ${d}: ${parts[7]}`).toBeLessThan(Math.log(1.3));
      expect(parts[1], `d ${d}`).toBeGreaterThan(0.5);
      expect(parts[13], `d ${d}`).toBeLessThan(2);
    }
  }
});

test('planExchange: symbols alone below a twentieth of the keys, filters above', () => {
  const plan = (n: number, difference: number) =>
    planExchange({ here: n, there: n, difference, symbols: 64 });
  expect(plan(100_000, 100)).toMatchObject({ bitsPerKey: 0, idBytes: 5, difference: 100 });
  expect(plan(100_000, 3000).bitsPerKey).toBe(0);
  const half = plan(100_000, 100_000);
  expect(half.bitsPerKey).toBeGreaterThan(7);
  expect(half.bitsPerKey).toBeLessThan(9);
  expect(half.hashes).toBe(Math.round(half.bitsPerKey * Math.LN2));
  expect(plan(1e9, 1e6).idBytes).toBe(7);
});
