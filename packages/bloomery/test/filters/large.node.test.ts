/**
 * A filter of a gigabyte: beyond 2^33 bits, where 32-bit indices reach a part of the array only.
 */

import { expectNormal, expectUniform } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { BloomFilter } from '../../src/filters/bloom-filter.ts';
import { counterKeys } from '../keys.ts';

test('2^33 + 9 bits: keys are found, and their bits reach all of the array evenly', () => {
  const bits = 2 ** 33 + 9;
  const filter = new BloomFilter({ bits, hashes: 2 });
  const keys = counterKeys(150_000);
  filter.addMany(keys);
  expect(filter.hasMany(keys).every((answer) => answer === 1)).toBe(true);
  // Two bits of different keys coincide with probability 2^-33: 300,000 draws make 5.2 collisions.
  const ones = filter.onesCount();
  expectNormal(300_000 - ones, 300_000 ** 2 / 2 / bits, Math.sqrt(300_000 ** 2 / 2 / bits), 'collisions');
  const foreign = filter.hasMany(counterKeys(100_000, 0, 1)).reduce((sum, answer) => sum + answer, 0);
  expect(foreign).toBe(0); // the rate is 1e-9

  // Where the ones are: 64 equal parts of the array, and the position within a byte.
  const frame = filter.encode();
  const payload = frame.subarray(28, frame.length - 4);
  const parts = new Uint32Array(64);
  const positions = new Uint32Array(8);
  const words = new Uint32Array(payload.buffer, 28, Math.floor(payload.length / 4));
  for (let w = 0; w < words.length; w++) {
    if (words[w] === 0) continue;
    for (let b = 0; b < 32; b++) {
      if (((words[w] >>> b) & 1) === 0) continue;
      parts[Math.floor((w * 64) / words.length)]++;
      positions[b % 8]++;
    }
  }
  expectUniform(parts, 'parts of the array');
  expectUniform(positions, 'positions within a byte');
});
