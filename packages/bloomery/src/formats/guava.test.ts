import { GUAVA_8463, GUAVA_UTF8, GUAVA_UTF16, KEYS } from '@bloomery/testkit/golden/foreign-files';
import { describe, expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { GuavaFilter, type GuavaFunnel } from './guava.ts';
import type { FormatError } from './shared/format-error.ts';

for (const [funnel, file] of [
  ['utf8', GUAVA_UTF8],
  ['utf16', GUAVA_UTF16],
] as const) {
  describe(funnel, () => {
    foreignContract<string>({
      name: `Guava, ${funnel}`,
      format: 'guava',
      file,
      headerLength: 6,
      decode: (bytes, options = {}) => GuavaFilter.decode(bytes, { ...options, funnel }),
      keys: KEYS,
      absent: (i) => `absent-${i}`,
      probe: 'x',
      bitBytes: 1200,
    });

    test('the same keys give the file of Guava', () => {
      const filter = GuavaFilter.create({ capacity: 1000, falsePositiveRate: 0.01, funnel });
      for (const key of KEYS) filter.add(key);
      expect(filter.encode()).toEqual(file);
      expect(filter.bits).toBe(9600);
      expect(filter.hashes).toBe(7);
    });
  });
}

test('a decoded filter is asked only with the keys of its funnel', () => {
  const nameless = GuavaFilter.decode(GUAVA_UTF8);
  expect(nameless.encode()).toEqual(GUAVA_UTF8);
  expect(() => nameless.has('key-1')).toThrow(
    'Cannot use the key: expected a funnel, which a Guava file does not name, got none (decode with funnel: utf8, utf16, int, long, bytes)',
  );
  // 'key-1' in UTF-8: bytes are the same whatever the funnel was.
  expect(nameless.has(Uint8Array.of(0x6b, 0x65, 0x79, 0x2d, 0x31))).toBe(true);
  const named = (funnel: GuavaFunnel) => GuavaFilter.decode(GUAVA_UTF8, { funnel });
  expect(() => named('utf8').has(5)).toThrow('Cannot use the key: expected a string, got 5');
  expect(() => named('int').has('5')).toThrow('Cannot use the key: expected a number, got string');
  expect(() => named('int').has(2 ** 31)).toThrow(/integer from -2\^31 to 2\^31 - 1/);
  expect(() => named('long').has(0.5)).toThrow(/safe integer/);
  expect(() => named('bytes').has('x')).toThrow('Cannot use the key: expected a Uint8Array, got string');
  expect(() => named('utf32' as never)).toThrow(/Cannot use funnel: expected 'utf8' or/);
});

test('integers: an int and a long are other keys, a number and a bigint are not', () => {
  const long = GuavaFilter.create({ capacity: 100, funnel: 'long' });
  long.add(-5);
  expect(long.has(-5n)).toBe(true);
  expect(long.has(5)).toBe(false);
  const int = GuavaFilter.create({ capacity: 100, funnel: 'int' });
  expect([int.add(7), int.add(7)]).toEqual([true, false]);
  expect(int.union(int).equals(int)).toBe(true);
  expect(() => int.merge(long)).toThrow(/Cannot merge unlike filters: GuavaFilter.*funnel int.*funnel long/);
});

test('like filters only: a funnel that is not known goes with any, another strategy with none', () => {
  const nameless = GuavaFilter.decode(GUAVA_UTF8);
  const named = GuavaFilter.decode(GUAVA_UTF8, { funnel: 'utf8' });
  expect(nameless.union(named).encode()).toEqual(GUAVA_UTF8);
  expect(named.union(nameless).funnel).toBe('utf8');
  expect([named.equals(nameless), nameless.equals(named)]).toEqual([true, true]);
  const other = GuavaFilter.decode(Uint8Array.from(GUAVA_UTF8).fill(0, 0, 1), { funnel: 'utf8' });
  expect(other.equals(named)).toBe(false);
  expect(() => other.merge(named)).toThrow(/MURMUR128_MITZ_32.*MURMUR128_MITZ_64/);
  const fewer = GuavaFilter.decode(Uint8Array.from(GUAVA_UTF8).fill(6, 1, 2), { funnel: 'utf8' });
  expect(() => fewer.merge(named)).toThrow(/6 hashes.*7 hashes/);
});

test('a filter without hashes would have every key', () => {
  const error = errorOf(() => GuavaFilter.decode(Uint8Array.from(GUAVA_UTF8).fill(0, 1, 2))) as FormatError;
  expect([error.code, error.offset]).toEqual(['parameters', 1]);
});

test('six bytes that declare 17 GB are refused at once (google/guava#8463)', () => {
  const error = errorOf(() => GuavaFilter.decode(GUAVA_8463)) as FormatError;
  expect(error.code).toBe('parameters');
  expect(error.message).toBe(
    'Cannot read guava filter: expected 1 to 1073741824 words, got 2147483647 (at byte 2)',
  );
  const eightGigabytes = Uint8Array.of(0, 1, 0x40, 0, 0, 0);
  expect((errorOf(() => GuavaFilter.decode(eightGigabytes)) as FormatError).code).toBe('limit');
  const unlimited = () => GuavaFilter.decode(eightGigabytes, { maxBytes: 2 ** 40 });
  expect((errorOf(unlimited) as FormatError).code).toBe('truncated');
});

test('sizes as Guava has them, and options that make no sense', () => {
  const create = (capacity: number, falsePositiveRate: number) => {
    const { bits, hashes } = GuavaFilter.create({ capacity, falsePositiveRate, funnel: 'utf8' });
    return [bits, hashes];
  };
  expect(create(1_000_000, 0.03)).toEqual([7_298_496, 5]);
  expect(create(1, 0.99)).toEqual([64, 1]); // m = 0 and k = 0 by the formulas
  expect(() => create(0, 0.03)).toThrow('Cannot use capacity: expected an integer of at least 1, got 0');
  expect(() => create(1, 1)).toThrow(/strictly between 0 and 1/);
  expect(() => create(2 ** 40, 0.01)).toThrow(/Cannot use bits: expected/);
  expect(() => GuavaFilter.create({ capacity: 1 } as never)).toThrow(/Cannot use funnel: expected/);
  expect(() => GuavaFilter.create({ capacity: 1, funnel: 'utf8', seed: 1 } as never)).toThrow(
    /got option 'seed'/,
  );
});

/**
 * BloomFilterTest.java of Guava: the even numbers below two million go in as decimal strings, 3 %;
 * the odd ones among the answers "maybe" are counted. The three counts are its assertions.
 */
test.each([
  ['utf8', 'MURMUR128_MITZ_64', 29_763],
  ['utf16', 'MURMUR128_MITZ_64', 30_104],
  ['utf16', 'MURMUR128_MITZ_32', 29_824],
] as const)('the published number of false positives: %s, %s', (funnel, strategy, published) => {
  const filter = GuavaFilter.create({ capacity: 1_000_000, falsePositiveRate: 0.03, funnel, strategy });
  for (let i = 0; i < 2_000_000; i += 2) filter.add(String(i));
  let count = 0;
  const small: number[] = [];
  for (let i = 1; i < 2_000_000; i += 2) {
    if (!filter.has(String(i))) continue;
    count++;
    if (i < 900) small.push(i);
  }
  expect(count).toBe(published);
  if (funnel === 'utf8') expect(small).toEqual([89, 129, 471, 723, 751, 835, 871]);
});
