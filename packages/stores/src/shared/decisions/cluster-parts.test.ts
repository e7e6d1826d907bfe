import { expectUniform } from '@bloomery/testkit/statistics';
import { hashKeys, hashScheme } from 'bloomery';
import { expect, test } from 'vitest';
import { partCapacity, partName, partOf, SLOTS, slotOf, splitByPart } from './cluster-parts.ts';

test('slotOf is CRC16 of the specification', () => {
  // From the Redis Cluster specification: CRC16("123456789") = 0x31c3.
  expect(slotOf('123456789')).toBe(0x31c3 % SLOTS);
  expect(slotOf('')).toBe(0);
});

test('partName spreads the parts over ranges of slots, for any number of nodes', () => {
  for (const parts of [1, 6, 12, 16]) {
    const slots = Array.from({ length: parts }, (_, part) => slotOf(partName('users', part, parts)));
    expect(slots).toEqual(slots.toSorted((a, b) => a - b));
    for (const nodes of [1, 2, 3, 6]) {
      const counts = new Array(nodes).fill(0);
      for (const slot of slots) counts[Math.floor((slot * nodes) / SLOTS)]++;
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }
  }
});

test('partOf is even, and leaves the upper bits of the hash even within a part', () => {
  const parts = 6;
  const keys = 60_000;
  const { words } = hashKeys(
    Array.from({ length: keys }, (_, i) => `key${i}`),
    hashScheme({ seed: 1 }),
  );
  const perPart = new Array(parts).fill(0);
  const upper = Array.from({ length: parts }, () => new Array(16).fill(0));
  for (let i = 0; i < keys; i++) {
    const part = partOf(words[2 * i], words[2 * i + 1], parts);
    perPart[part]++;
    upper[part][words[2 * i + 1] >>> 28]++;
  }
  expectUniform(perPart, 'keys per part');
  for (const counts of upper) expectUniform(counts, 'upper bits within a part');
});

test('splitByPart keeps every hash, with its place', () => {
  const { words } = hashKeys(
    Array.from({ length: 1000 }, (_, i) => i),
    hashScheme({ seed: 2 }),
  );
  const batches = splitByPart(words, 5);
  const seen = new Set<number>();
  for (const [part, { words: some, places }] of batches.entries()) {
    for (const [i, place] of places.entries()) {
      seen.add(place);
      expect([some[2 * i], some[2 * i + 1]]).toEqual([words[2 * place], words[2 * place + 1]]);
      expect(partOf(some[2 * i], some[2 * i + 1], 5)).toBe(part);
    }
  }
  expect(seen.size).toBe(1000);
  expect(partCapacity(60_000, 6)).toBe(10_300);
});
