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
import type { Key } from '../../src/keys/key.ts';

const COUNT = Math.round(200_000 * Math.min(EFFORT, 5));

function bytesOf(length: number, fill: (bytes: Uint8Array) => void): Uint8Array {
  const bytes = new Uint8Array(length);
  fill(bytes);
  return bytes;
}

const families: Record<string, (i: number) => Key> = {
  'integers, one after the other': (i) => i,
  'integers far apart': (i) => i * 2 ** 21,
  'decimal strings': (i) => String(i),
  'hexadecimal strings': (i) => i.toString(16).padStart(16, '0'),
  'dotted addresses': (i) => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`,
  'the same head': (i) => `https://example.org/a/rather/long/path/that/never/changes/${i}`,
  'the same tail': (i) => `${i}/a/rather/long/path/that/never/changes/index.html`,
  'one column of several blocks': (i) => bytesOf(64, (b) => new DataView(b.buffer).setUint32(36, i)),
  'two columns that move together': (i) =>
    bytesOf(64, (b) => {
      new DataView(b.buffer).setUint32(0, i);
      new DataView(b.buffer).setUint32(32, i);
    }),
  'two ones among two thousand zeros': (i) =>
    bytesOf(256, (b) => {
      b[(i % 1000) >> 3] = 1 << ((i % 1000) & 7);
      b[128 + (Math.floor(i / 1000) >> 3)] = 1 << (Math.floor(i / 1000) & 7);
    }),
  'lengths of a single letter': (i) =>
    'a'.repeat(1 + (i % 500)) + String.fromCharCode(98 + Math.floor(i / 500)),
};

const subjects = Object.entries(families).flatMap(([name, keyAt]) =>
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
