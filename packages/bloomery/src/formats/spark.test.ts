import { KEYS, SPARK_V1, SPARK_V2 } from '@bloomery/testkit/golden/foreign-files';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { sparkMurmur3 } from './hashes/murmur3.ts';
import { keyWords, loadInt64, loadKey } from './shared/foreign-key.ts';
import type { FormatError } from './shared/format-error.ts';
import { SparkFilter, type SparkKey } from './spark.ts';

for (const [version, file, headerLength] of [
  [1, SPARK_V1, 12],
  [2, SPARK_V2, 16],
] as const) {
  describe(`version ${version}`, () => {
    foreignContract<SparkKey>({
      name: `Spark, version ${version}`,
      format: 'spark',
      file,
      headerLength,
      decode: SparkFilter.decode,
      keys: KEYS,
      absent: (i) => `absent-${i}`,
      probe: 'x',
      bitBytes: 1200,
    });

    test('create and add: the file that Spark writes of these keys', () => {
      const filter = SparkFilter.create({ capacity: 1000, falsePositiveRate: 0.01, version });
      for (const key of KEYS) filter.add(key);
      expect(filter.encode()).toEqual(file);
      expect([filter.version, filter.seed, filter.bits, filter.hashes]).toEqual([version, 0, 9600, 7]);
      expect(filter.equals(SparkFilter.decode(file))).toBe(true);
    });
  });
}

/**
 * A file of either version, bit by bit in BigInt, as BloomFilterImpl.java and
 * BloomFilterImplV2.java do it.
 */
function build(version: 1 | 2, keys: readonly (string | bigint)[], words: number, seed: number): Uint8Array {
  const header = version === 1 ? [1, 5, words] : [2, 5, seed, words];
  const bits = BigInt(64 * words);
  const longs = new BigUint64Array(words);
  for (const key of keys) {
    const length = typeof key === 'string' ? loadKey(key) : loadInt64(key);
    const h1 = sparkMurmur3(keyWords(), length, version === 1 ? 0 : seed);
    const h2 = sparkMurmur3(keyWords(), length, h1);
    let sum = BigInt(h1) * 0x7fffffffn;
    for (let i = 1n; i <= 5n; i++) {
      let combined = BigInt.asIntN(32, BigInt(h1) + i * BigInt(h2));
      if (version === 2) combined = sum = BigInt.asIntN(64, sum + BigInt(h2));
      const index = (combined < 0n ? ~combined : combined) % bits;
      longs[Number(index / 64n)] |= 1n << (index % 64n);
    }
  }
  const bytes = new Uint8Array(4 * header.length + 8 * words);
  const view = new DataView(bytes.buffer);
  for (const [i, field] of header.entries()) view.setInt32(4 * i, field);
  for (const [i, long] of longs.entries()) view.setBigUint64(4 * header.length + 8 * i, long);
  return bytes;
}

test.each([
  [1, 0],
  [2, 0],
  [2, -77],
] as const)('version %i, seed %i: strings and longs', (version, seed) => {
  const random = new Random(4);
  const longs = Array.from({ length: 300 }, () =>
    BigInt.asIntN(64, BigInt(random.bits()) * BigInt(random.bits())),
  );
  const keys = [...KEYS.slice(0, 300), 'ä€😀', '', ...longs, 2n ** 63n - 1n, -(2n ** 63n)];
  const file = build(version, keys, 120, seed);
  const filter = SparkFilter.decode(file);
  expect(keys.filter((key) => !filter.has(key))).toEqual([]);
  expect(filter.encode()).toEqual(file);
  let found = 0;
  for (let i = 0; i < 20_000; i++) if (filter.has(i * 7919)) found++;
  expectBinomial(found, 20_000, filter.estimatedFalsePositiveRate(), `version ${version}`);
});

test.each([
  [1, 0],
  [2, -77],
] as const)('create and add: version %i, seed %i, against the definition', (version, seed) => {
  // 937 keys at 3 %: 6838 bits and k = 5, as the definition below has it.
  const filter = SparkFilter.create({ capacity: 937, version, seed });
  expect([filter.bits, filter.hashes]).toEqual([64 * 107, 5]);
  const keys = [...KEYS.slice(0, 300), 'ä€😀', '', 5n, -(2n ** 63n)];
  expect(filter.add('key-1')).toBe(true);
  for (const key of keys) filter.add(key);
  expect(filter.add('key-1')).toBe(false);
  expect(filter.encode()).toEqual(build(version, keys, 107, seed));
});

test('create: the sizes of Spark, and options that make no sense', () => {
  const create = (capacity: number, falsePositiveRate?: number) => {
    const { bits, hashes } = SparkFilter.create({
      capacity,
      ...(falsePositiveRate && { falsePositiveRate }),
    });
    return [bits, hashes];
  };
  expect(create(1_000_000)).toEqual([7_298_496, 5]);
  expect(create(1, 0.5)).toEqual([64, 1]);
  // Spark refuses it as well.
  expect(() => create(1, 0.99)).toThrow('Cannot use bits: expected an integer from 1 to');
  expect(() => create(0)).toThrow('Cannot use capacity');
  expect(() => SparkFilter.create({ capacity: 1, version: 3 as never })).toThrow(
    'Cannot use version: expected 1 or 2, got 3',
  );
  expect(() => SparkFilter.create({ capacity: 1, version: 1, seed: 1 })).toThrow(/Cannot use seed/);
  expect(() => SparkFilter.create({ capacity: 1, seed: 2 ** 31 })).toThrow(/Cannot use seed/);
});

test('copy and merge: a copy is independent', () => {
  const one = SparkFilter.create({ capacity: 100 });
  one.add('a');
  const two = one.copy();
  two.add('b');
  expect([one.has('b'), two.has('a'), one.equals(two)]).toEqual([false, true, false]);
  expect(one.merge(two)).toBe(one);
  expect(one.equals(two)).toBe(true);
});

test('union: same version, size, k and seed only', () => {
  const one = SparkFilter.decode(build(2, ['a'], 10, 3));
  const other = SparkFilter.decode(build(2, ['b'], 10, 3));
  const both = one.union(other);
  expect([both.has('a'), both.has('b'), one.has('b')]).toEqual([true, true, false]);
  expect(both.encode()).toEqual(build(2, ['a', 'b'], 10, 3));
  expect(() => one.union(SparkFilter.decode(build(2, [], 10, 4)))).toThrow(
    /Cannot merge unlike filters.*seed 3.*seed 4/,
  );
  expect(() => one.union(SparkFilter.decode(build(1, [], 10, 0)))).toThrow(/version 1/);
});

test('what is wrong is named', () => {
  const changed = (at: number, value: number) => {
    const bytes = Uint8Array.from(SPARK_V2);
    bytes[at] = value;
    return errorOf(() => SparkFilter.decode(bytes)) as FormatError;
  };
  expect(changed(3, 3).message).toBe('Cannot read spark filter: expected version 1 or 2, got 3 (at byte 0)');
  expect(changed(7, 0).message).toMatch(/expected k from 1 to 32767, got 0 \(at byte 4\)/);
  expect(changed(12, 0x80).message).toMatch(/expected 1 to 1073741824 words, got -2147483498 \(at byte 12\)/);
  expect(changed(13, 1).code).toBe('truncated');
  expect(() => SparkFilter.decode(SPARK_V2).has(0.5)).toThrow(/safe integer/);
});
