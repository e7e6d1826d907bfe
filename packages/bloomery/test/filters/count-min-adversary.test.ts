/**
 * The guarantee of the hash, on streams that were chosen: count-min-sketch.ts says which streams
 * the bound holds for. Keys with a pattern, chosen without the seed, are as good as random ones.
 * Keys that were chosen with the seed break it. Under a secret key the same keys do not.
 */

import { expectBinomial, expectNormal } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { CountMinSketch } from '../../src/filters/count-min/count-min-sketch.ts';
import { SecretKey } from '../../src/hashing/secret-key.ts';
import { hashKey } from '../../src/kernel/batches/hash-key.ts';
import { probeIndex } from '../../src/kernel/bits/classic.ts';

/** The column of a key in each row, for an attacker who knows the seed. */
function columnsOf(sketch: CountMinSketch, key: number): number[] {
  const { low, high } = hashKey(key, { seed: sketch.scheme.seed });
  return Array.from({ length: sketch.depth }, (_, row) => probeIndex(low | 0, high | 0, row, sketch.width));
}

/** One key for each row that shares the victim's counter there: width tries each. */
function attackOn(
  sketch: CountMinSketch,
  victim: number,
): { readonly keys: number[]; readonly tries: number } {
  const target = columnsOf(sketch, victim);
  const keys: number[] = [];
  let tries = 0;
  for (let row = 0; row < sketch.depth; row++) {
    do tries++;
    while (columnsOf(sketch, 10 ** 6 + tries)[row] !== target[row]);
    keys.push(10 ** 6 + tries);
  }
  return { keys, tries };
}

function secretOf(number: number): SecretKey {
  return new SecretKey(Uint8Array.from({ length: 16 }, (_, at) => (number >> (8 * (at & 1))) ^ (29 * at)));
}

test('an attacker who knows the seed pushes a count above the bound, with one key per row', () => {
  const sketch = CountMinSketch.forError({ epsilon: 0.001, delta: 0.01, seed: 99 });
  const victim = 7;
  const { keys, tries } = attackOn(sketch, victim);
  // About width tries for each of the five rows: a moment's work.
  expect(tries).toBeLessThan(20 * sketch.width * sketch.depth);
  sketch.addMany(keys, 1000);
  expect(sketch.total).toBe(5000);
  // The victim was never added. It has a fifth of the total, where a thousandth was promised.
  expect(sketch.count(victim)).toBeGreaterThanOrEqual(1000);
  expect(sketch.count(victim)).toBeGreaterThan(100 * sketch.epsilon * sketch.total);
});

describe.each(['plain', 'conservative'] as const)('%s', (update) => {
  test('under a secret key the same keys hit the victim as often as any others', () => {
    const shape = { width: 16, depth: 2, update } as const;
    const victim = 7;
    const { keys } = attackOn(new CountMinSketch({ ...shape, seed: 99 }), victim);
    const known = new CountMinSketch({ ...shape, seed: 99 });
    known.addMany(keys, 1000);
    expect(known.count(victim)).toBeGreaterThanOrEqual(1000);
    let hit = 0;
    const trials = 5000;
    for (let i = 0; i < trials; i++) {
      const sketch = new CountMinSketch({ ...shape, key: secretOf(i) });
      sketch.addMany(keys, 1000);
      if (sketch.count(victim) > 0) hit++;
    }
    // In each of the two rows one of the two keys falls on the victim's counter.
    expectBinomial(hit, trials, (1 - (1 - 1 / 16) ** 2) ** 2, 'secret keys under which the victim is hit');
  });
});

test.each<[string, (i: number) => number]>([
  ['consecutive integers', (i) => i + 1],
  ['multiples of the width', (i) => 64 * (i + 1)],
  ['multiples of 2^32', (i) => 2 ** 32 * (i + 1)],
  ['numbers with one or two bits', (i) => 2 ** (i % 45) + 2 ** Math.floor(i / 45)],
])('keys with a pattern have the error of random ones: %s', (name, keyOf) => {
  // The bound needs one fact: two keys share a counter of a row with probability 1/width. The mean
  // excess of one row is then (N - f)/width, for any amounts.
  const [width, seeds] = [64, 4000];
  const keys = [...new Set(Array.from({ length: 100 }, (_, i) => keyOf(i)))].filter((key) => key !== 5);
  const amounts = keys.map((_, i) => 1 + (i % 10) ** 2);
  const total = amounts.reduce((sum, one) => sum + one, 0);
  const excess = new Float64Array(seeds);
  let both = 0;
  for (let seed = 0; seed < seeds; seed++) {
    const one = new CountMinSketch({ width, depth: 1, seed });
    one.addMany(keys, amounts);
    excess[seed] = one.count(5);
    // Rows as if they were independent: one other key hits both with probability 1/width².
    const [mine, other] = [5, keys[seed % keys.length]].map((key) =>
      columnsOf(new CountMinSketch({ width: 8, depth: 2, seed }), key),
    );
    if (mine[0] === other[0] && mine[1] === other[1]) both++;
  }
  const mean = excess.reduce((sum, value) => sum + value, 0) / seeds;
  const spread = Math.sqrt(excess.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (seeds - 1));
  expectNormal(mean, total / width, spread / Math.sqrt(seeds), `${name}: mean excess`);
  expectBinomial(both, seeds, 1 / 64, `${name}: two rows at once`);
});
