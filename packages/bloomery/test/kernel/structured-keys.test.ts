/**
 * Keys as people have them are not random: counters, addresses, names with one digit changed. A
 * hash can show a normal rate on random keys and still collide by the thousand on these. For each
 * family: no two keys share 64 bits of hash, each half collides as often as chance says, and
 * filters keep their rate on the other half of the family.
 */

import { EFFORT } from '@bloomery/testkit/effort';
import { expectBinomial, expectNormal } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { BlockedBloomFilter } from '../../src/filters/blocked-bloom-filter.ts';
import { BloomFilter } from '../../src/filters/bloom-filter.ts';
import '../../src/xxh64.ts';
import { hashKeys } from '../../src/kernel/batches/hash-keys.ts';
import { STRUCTURED_FAMILIES } from '../structured-families.ts';

const COUNT = Math.round(200_000 * Math.min(EFFORT, 5));

const subjects = Object.entries(STRUCTURED_FAMILIES).flatMap(([name, keyAt]) =>
  ['forge64', 'xxh64'].map((hash) => ({ name, hash, keyAt })),
);

describe.each(subjects)('$name by $hash', ({ hash, keyAt }) => {
  const keys = Array.from({ length: COUNT }, (_unused, i) => keyAt(i));
  const { words } = hashKeys(keys, { hash });

  test('64 bits never collide, each half as often as chance', () => {
    const whole = new Float64Array(COUNT);
    for (let i = 0; i < COUNT; i++) whole[i] = (words[2 * i + 1] >>> 0) * 2 ** 20 + (words[2 * i] >>> 12);
    expect(repeats(whole.sort())).toBe(0); // 52 of the 64 bits already tell all keys apart
    const expected = (COUNT * (COUNT - 1)) / 2 ** 33;
    for (const half of [0, 1]) {
      const values = Uint32Array.from({ length: COUNT }, (_unused, i) => words[2 * i + half]).sort();
      expectNormal(repeats(values), expected, Math.sqrt(expected), `half ${half}`);
    }
  });

  test('filters keep their rate on keys of the same family', () => {
    const inside = keys.filter((_unused, i) => i % 2 === 0);
    const outside = keys.filter((_unused, i) => i % 2 === 1);
    const options = { capacity: inside.length, falsePositiveRate: 0.02, hash };
    for (const filter of [BloomFilter.forCapacity(options), BlockedBloomFilter.forCapacity(options)]) {
      filter.addMany(inside);
      const found = filter.hasMany(outside).reduce((sum, answer) => sum + answer, 0);
      expectBinomial(found, outside.length, filter.estimatedFalsePositiveRate(), String(filter));
    }
  });
});

function repeats(sorted: ArrayLike<number>): number {
  let count = 0;
  for (let i = 1; i < sorted.length; i++) if (sorted[i] === sorted[i - 1]) count++;
  return count;
}
