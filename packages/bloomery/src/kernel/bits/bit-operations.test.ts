import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { andInto, countOnes, countSharedOnes, foldNeighbours, isSubset, orInto } from './bit-operations.ts';

const bitOf = (words: Uint32Array, i: number) => (words[i >>> 5] >>> (i & 31)) & 1;
const randomWords = (random: Random, length: number) =>
  Uint32Array.from({ length }, () => (random.below(3) === 0 ? random.bits() & random.bits() : random.bits()));

test('counting agrees with looking at each bit', () => {
  const random = new Random(21);
  for (let round = 0; round < 50; round++) {
    const a = randomWords(random, 1 + random.below(9));
    const b = randomWords(random, a.length);
    const bits = 32 * a.length;
    const count = (test: (i: number) => number) => {
      let total = 0;
      for (let i = 0; i < bits; i++) total += test(i);
      return total;
    };
    expect(countOnes(a)).toBe(count((i) => bitOf(a, i)));
    expect(countSharedOnes(a, b)).toBe(count((i) => bitOf(a, i) & bitOf(b, i)));
  }
});

test('combining agrees with looking at each word', () => {
  const random = new Random(22);
  const a = randomWords(random, 33);
  const b = randomWords(random, 33);
  for (const shared of [false, true]) {
    const or = Uint32Array.from(a);
    orInto(or, b, shared);
    expect([...or]).toEqual([...a].map((w, i) => (w | b[i]) >>> 0));
    expect(isSubset(a, or) && isSubset(b, or)).toBe(true);
    expect(isSubset(or, a)).toBe(false);
  }
  const and = Uint32Array.from(a);
  andInto(and, b);
  expect([...and]).toEqual([...a].map((w, i) => (w & b[i]) >>> 0));
});

test('folding ORs neighbours, for any even number of bits', () => {
  const random = new Random(23);
  for (let bits = 2; bits < 300; bits += 2) {
    const words = randomWords(random, Math.ceil(bits / 32));
    if (bits % 32 !== 0) words[words.length - 1] &= (1 << (bits % 32)) - 1;
    const half = new Uint32Array(Math.ceil(bits / 64));
    foldNeighbours(words, bits, half);
    for (let j = 0; j < bits / 2; j++) {
      expect(bitOf(half, j), `bit ${j} of ${bits / 2}`).toBe(bitOf(words, 2 * j) | bitOf(words, 2 * j + 1));
    }
    for (let j = bits / 2; j < 32 * half.length; j++) expect(bitOf(half, j)).toBe(0);
  }
});
