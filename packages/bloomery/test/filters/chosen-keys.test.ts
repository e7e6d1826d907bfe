/**
 * The chosen-insertion attack (Gerbet, Kumar, Lauradoux 2015): an attacker who can compute the
 * indices adds keys that each set k bits that were not set before, and the filter fills faster than
 * random keys would fill it.
 */

import { expectBinomial } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { BloomFilter } from '../../src/filters/bloom-filter.ts';
import { SecretKey } from '../../src/hashing/secret-key.ts';
import { hashKeys } from '../../src/kernel/batches/hash-keys.ts';
import { probeIndex } from '../../src/kernel/bits/classic.ts';
import { rateTrue } from '../../src/math/true-rate.ts';
import { counterKeys } from '../keys.ts';

const CAPACITY = 10_000;
const SECRET = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => 11 * i + 3));
const QUESTIONS = 400_000;

/** Keys of which each sets only bits that are still 0, for a filter whose hash is public. */
function craftedKeys({ bits, hashes }: BloomFilter): number[] {
  const set = new Uint8Array(bits);
  const crafted: number[] = [];
  const batch = 50_000;
  for (let from = 0; crafted.length < CAPACITY; from += batch) {
    const candidates = Array.from({ length: batch }, (_, i) => from + i);
    const { words } = hashKeys(candidates);
    candidate: for (let c = 0; c < batch && crafted.length < CAPACITY; c++) {
      const indices: number[] = [];
      for (let i = 0; i < hashes; i++) {
        const index = probeIndex(words[2 * c], words[2 * c + 1], i, bits);
        if (set[index] === 1 || indices.includes(index)) continue candidate;
        indices.push(index);
      }
      for (const index of indices) set[index] = 1;
      crafted.push(candidates[c]);
    }
  }
  return crafted;
}

function falsePositives(filter: BloomFilter): number {
  return filter.hasMany(counterKeys(QUESTIONS, 0, 77)).reduce((sum, answer) => sum + answer, 0);
}

test('crafted keys raise an unkeyed filter from 1 % to 11 % and leave a keyed one at 1 %', () => {
  const open = BloomFilter.forCapacity({ capacity: CAPACITY, falsePositiveRate: 0.01 });
  const keyed = BloomFilter.forCapacity({ capacity: CAPACITY, falsePositiveRate: 0.01, key: SECRET });
  const attack = craftedKeys(open);
  open.addMany(attack);
  keyed.addMany(attack);

  // Every crafted key set k new bits: the fill is nk/m instead of 1 - e^(-nk/m).
  const { bits, hashes } = open;
  expect(open.onesCount()).toBe(CAPACITY * hashes);
  const attacked = ((CAPACITY * hashes) / bits) ** hashes;
  expect(attacked).toBeGreaterThan(0.1);
  expectBinomial(falsePositives(open), QUESTIONS, attacked, 'unkeyed filter under attack');
  expectBinomial(
    falsePositives(keyed),
    QUESTIONS,
    rateTrue(bits, hashes, CAPACITY),
    'keyed filter under attack',
  );
});
