import { expectBinomial } from '@bloomery/testkit/statistics';
import { hashKeys, SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import { StagedFilter } from './staged-filter.ts';

const SIZE = { capacity: 1000, falsePositiveRate: 0.01 };
const keys = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const add = (filter: StagedFilter, batch: string[]) => filter.addWords(hashKeys(batch, filter.scheme).words);

test('a filter grows past its capacity, finds all keys and keeps the rate', () => {
  const filter = new StagedFilter(SIZE, { seed: 3 });
  const members = keys('m', 40_000);
  for (let from = 0; from < members.length; from += 1700) add(filter, members.slice(from, from + 1700));
  expect(filter.stages).toBe(6);
  expect(filter.hasMany(members).every((answer) => answer === 1)).toBe(true);
  expect(members.every((key) => filter.has(key))).toBe(true);
  const trials = 100_000;
  const positives = filter.hasMany(keys('n', trials)).reduce((sum, answer) => sum + answer, 0);
  const rate = filter.estimatedFalsePositiveRate();
  expect(rate).toBeLessThan(SIZE.falsePositiveRate);
  expectBinomial(positives, trials, rate, 'false positives of all stages');
});

test('adding keys again does not fill the filter', () => {
  const filter = new StagedFilter(SIZE, { seed: 3 });
  for (let round = 0; round < 20; round++) add(filter, keys('m', 900));
  expect(filter.stages).toBe(1);
});

test('decode reads what encode wrote, with a secret key as well', () => {
  const key = new SecretKey(new Uint8Array(16).fill(7));
  for (const hash of [{ seed: 5 }, { key }]) {
    const filter = new StagedFilter(SIZE, hash);
    add(filter, keys('m', 5000));
    const read = StagedFilter.decode(filter.encode(), SIZE, hash);
    expect(read.isSubsetOf(filter) && filter.isSubsetOf(read)).toBe(true);
    expect(Math.abs(read.count - filter.count)).toBeLessThan(200);
  }
});

test('decode refuses frames of other sizes and of another key', () => {
  const filter = new StagedFilter(SIZE, { seed: 5 });
  expect(() => StagedFilter.decode(filter.encode(), { ...SIZE, capacity: 2000 }, { seed: 5 })).toThrow(
    'Cannot merge',
  );
  expect(() => StagedFilter.decode(filter.encode(), SIZE, { seed: 6 })).toThrow('Cannot merge');
});

test('merge gives the keys of both, with different numbers of stages', () => {
  const small = new StagedFilter(SIZE, { seed: 5 });
  const large = new StagedFilter(SIZE, { seed: 5 });
  add(small, keys('s', 500));
  add(large, keys('l', 9000));
  expect(small.isSubsetOf(large)).toBe(false);
  for (const [into, from] of [
    [small.copy(), large],
    [large.copy(), small],
  ]) {
    into.merge(from);
    expect(into.hasMany([...keys('s', 500), ...keys('l', 9000)]).every((answer) => answer === 1)).toBe(true);
    expect(small.isSubsetOf(into) && large.isSubsetOf(into)).toBe(true);
  }
});
