import { expectUniform, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { MAX_UNIVERSE, mixPosition, PositionSum, positionOf } from './positions.ts';

const WORD = 2 ** 32;

test('positionOf is the exact product for every size of universe', () => {
  const random = new Random(1);
  const universes = [
    1,
    2,
    3,
    1000,
    2 ** 24 - 1,
    2 ** 24,
    2 ** 24 + 1,
    2 ** 32,
    2 ** 47 + 12345,
    MAX_UNIVERSE,
  ];
  for (const universe of universes) {
    for (let i = 0; i < 500; i++) {
      const low = i === 0 ? 0 : i === 1 ? WORD - 1 : random.below(WORD);
      const high = i === 0 ? 0 : i === 1 ? WORD - 1 : random.below(WORD);
      const exact = (((BigInt(high) << 32n) | BigInt(low)) * BigInt(universe)) >> 64n;
      expect(positionOf({ low, high }, universe)).toBe(Number(exact));
    }
  }
});

test('positionOf spreads keys evenly', () => {
  const counts = new Uint32Array(1000);
  for (let i = 0; i < 100_000; i++) counts[positionOf(hashKey(i), 1000)]++;
  expectUniform(counts, 'positions of 100,000 keys');
});

test('mixPosition gives the published outputs of SplitMix64', () => {
  const out = new Int32Array(2);
  const term = (position: number) => {
    mixPosition(position, out);
    return (BigInt(out[1] >>> 0) << 32n) | BigInt(out[0] >>> 0);
  };
  expect(term(0)).toBe(0xe220a8397b1dcdafn);
  expect(term(1234567)).toBe(6457827717110365317n); // the vector of Rosetta Code
  const random = new Random(2);
  for (let i = 0; i < 1000; i++) {
    const position = random.below(2 ** 21) * WORD + random.below(WORD);
    expect(term(position)).toBe(splitMix(BigInt(position)));
  }
});

test('PositionSum adds and subtracts modulo 2^64, in any order', () => {
  const random = new Random(3);
  const positions = Array.from({ length: 2000 }, () => random.below(2 ** 16) * WORD + random.below(WORD));
  const sum = PositionSum.ofEmpty(2 ** 48, 7);
  const empty = sum.value;
  expect(empty).toBe((splitMix(2n ** 48n) + splitMix(2n ** 48n + 8n)) % 2n ** 64n);
  for (const position of positions) sum.add(position);
  const total = positions.reduce((all, position) => all + splitMix(BigInt(position)), empty);
  expect(sum.value).toBe(total % 2n ** 64n);
  const copy = sum.copy();
  for (const position of [...positions].sort((a, b) => a - b)) sum.subtract(position);
  expect(sum.value).toBe(empty);
  expect(copy.value).toBe(total % 2n ** 64n);
});

test('PositionSum tells universes and key ids of empty sets apart', () => {
  const sums = [PositionSum.ofEmpty(1000, 0), PositionSum.ofEmpty(1001, 0), PositionSum.ofEmpty(1000, 1)];
  expect(new Set(sums.map(({ value }) => value)).size).toBe(3);
});

function splitMix(state: bigint): bigint {
  const mask = 2n ** 64n - 1n;
  let z = (state + 0x9e3779b97f4a7c15n) & mask;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
  return z ^ (z >> 31n);
}
