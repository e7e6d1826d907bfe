import { expectUniform, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { referenceIndex } from '../../../test/reference.ts';
import { probeIndex } from './classic.ts';

const sizes = [
  1,
  2,
  3,
  7,
  64,
  1000,
  2 ** 21 - 1,
  2 ** 21 + 1,
  9_585_059,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 31 + 11,
  2 ** 32 - 5,
  2 ** 32,
  3 * 2 ** 31,
  2 ** 33 - 1,
  2 ** 33,
  2 ** 33 + 9,
  2 ** 36,
];

test('the index is exactly the one of the definition, at every size', () => {
  const random = new Random(5);
  for (const m of sizes) {
    for (let n = 0; n < 300; n++) {
      const a = n === 0 ? -1 : random.bits() | 0;
      const b = n === 0 ? -1 : random.bits() | 0;
      const hash = (BigInt(b >>> 0) << 32n) | BigInt(a >>> 0);
      const i = n % 40;
      const index = probeIndex(a, b, i, m);
      expect(index, `m = ${m}, i = ${i}`).toBe(referenceIndex(hash, i, m));
      expect(index >= 0 && index < m).toBe(true);
    }
  }
});

test('halving the range halves the index: OR-ing neighbours loses no key', () => {
  const random = new Random(6);
  for (let n = 0; n < 20_000; n++) {
    const m = 2 * (1 + random.below(2 ** 31)) * (n % 2 === 0 ? 1 : 8);
    const [a, b, i] = [random.bits() | 0, random.bits() | 0, n % 20];
    expect(probeIndex(a, b, i, m / 2)).toBe(Math.floor(probeIndex(a, b, i, m) / 2));
  }
});

// Where peers break: 32-bit indices reach only a part of the array, and its low bits are not
// uniform.
test.each([
  2 ** 31 - 1,
  2 ** 31,
  2 ** 31 + 11,
  2 ** 32 - 5,
  2 ** 32,
  3 * 2 ** 31 + 1,
  2 ** 33 - 1,
  2 ** 33,
  2 ** 33 + 9,
])('indices are uniform over %i bits, in their highest and in their lowest digits, for each probe', (m) => {
  const random = new Random(m % 1000);
  const cells = 1024;
  for (const i of [0, 1, 2, 6, 11]) {
    const high = new Uint32Array(cells);
    const low = new Uint32Array(cells);
    let odd = 0;
    const draws = 200_000;
    for (let n = 0; n < draws; n++) {
      const index = probeIndex(random.bits() | 0, random.bits() | 0, i, m);
      high[Math.floor((index / m) * cells)]++;
      low[index % cells]++;
      odd += index % 2;
    }
    expectUniform(high, `m = ${m}, probe ${i}, highest digits`);
    expectUniform(low, `m = ${m}, probe ${i}, lowest digits`);
    expectUniform([draws - odd, odd], `m = ${m}, probe ${i}, parity`);
  }
});

// Double hashing fails this: with few bits, probes that form a progression coincide far too often.
test('pairs and triples of probes are independent in a tiny filter', () => {
  const m = 16;
  const random = new Random(9);
  for (const [p, q, r] of [
    [0, 1, 2],
    [0, 2, 4],
    [1, 5, 9],
    [3, 7, 16],
  ]) {
    const cells = new Uint32Array(m ** 3);
    for (let n = 0; n < 400_000; n++) {
      const [a, b] = [random.bits() | 0, random.bits() | 0];
      cells[(probeIndex(a, b, p, m) * m + probeIndex(a, b, q, m)) * m + probeIndex(a, b, r, m)]++;
    }
    expectUniform(cells, `probes ${p}, ${q}, ${r} of 16 bits`);
  }
});
