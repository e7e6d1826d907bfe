import { KEYS, PARQUET_XXHASH } from '@bloomery/testkit/golden/foreign-files';
import { expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { BlockedBloomFilter } from '../filters/blocked-bloom-filter.ts';
import type { Key } from '../keys/key.ts';
import { ParquetFilter, plainBytes } from './parquet.ts';
import type { FormatError } from './shared/format-error.ts';

const WORDS = ['hello', 'parquet', 'bloom', 'filter'];

foreignContract<Key>({
  name: 'Parquet',
  format: 'parquet',
  file: PARQUET_XXHASH,
  headerLength: 16,
  decode: ParquetFilter.decode,
  keys: WORDS,
  absent: (i) => `absent-${i}`,
  probe: 'x',
  bitBytes: 1024,
});

test('the same words give the file of apache/parquet-testing', () => {
  const filter = new ParquetFilter(new BlockedBloomFilter({ blocks: 32, layout: 'split-block' }));
  for (const word of WORDS) filter.add(word);
  expect(filter.encode()).toEqual(PARQUET_XXHASH);
  expect([...filter.encode().subarray(0, 16)]).toEqual([
    0x15, 0x80, 0x10, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0,
  ]);
  expect(Math.round(filter.estimatedSize())).toBe(4);
});

test('headers of all sizes', () => {
  for (const blocks of [1, 2, 3, 255, 256, 65536, 70_001]) {
    const filter = new ParquetFilter(new BlockedBloomFilter({ blocks, layout: 'split-block' }));
    filter.add('x');
    const bytes = filter.encode();
    expect(ParquetFilter.decode(bytes).equals(filter)).toBe(true);
    // The zigzag varint, by its definition.
    let zigzag = 0n;
    let at = 1;
    for (let shift = 0n; ; shift += 7n) {
      zigzag |= BigInt(bytes[at] & 127) << shift;
      if (bytes[at++] < 128) break;
    }
    expect(zigzag).toBe(BigInt(2 * 32 * blocks));
    expect(bytes.length).toBe(at + 13 + 32 * blocks);
  }
});

test('inside a file, at an offset', () => {
  const bytes = new Uint8Array(5 + PARQUET_XXHASH.length + 9).fill(0x15);
  bytes.set(PARQUET_XXHASH, 5);
  const { filter, end } = ParquetFilter.decodeAt(bytes, 5);
  expect(end).toBe(5 + PARQUET_XXHASH.length);
  expect(filter.encode()).toEqual(PARQUET_XXHASH);
  expect(() => ParquetFilter.decodeAt(bytes, -1)).toThrow(RangeError);
  const misplaced = errorOf(() => ParquetFilter.decodeAt(bytes, 6)) as FormatError;
  expect([misplaced.code, misplaced.offset]).toEqual(['not-this-format', 6]);
  // Offsets in errors are those in the file.
  bytes[5 + 8] = 0x2c;
  expect((errorOf(() => ParquetFilter.decodeAt(bytes, 5)) as FormatError).offset).toBe(5 + 8);
  const cut = bytes.subarray(0, 5 + 2);
  expect((errorOf(() => ParquetFilter.decodeAt(cut, 5)) as FormatError).offset).toBe(7);
  expect((errorOf(() => ParquetFilter.decodeAt(cut, 7)) as FormatError).code).toBe('truncated');
  expect(() => ParquetFilter.decodeAt(cut, 8)).toThrow(RangeError);
  expect(() => ParquetFilter.decodeAt('text' as never, 0)).toThrow(
    'Cannot use a parquet filter: expected a Uint8Array, got string',
  );
});

test('other algorithms, hashes, compressions and sizes are refused by name', () => {
  const changed = (at: number, value: number) => {
    const bytes = Uint8Array.from(PARQUET_XXHASH);
    bytes[at] = value;
    return (errorOf(() => ParquetFilter.decode(bytes)) as FormatError).message;
  };
  expect(changed(4, 0x2c)).toMatch(/expected the algorithm BLOCK/);
  expect(changed(8, 0x2c)).toMatch(/expected the hash XXHASH/);
  expect(changed(12, 0x2c)).toMatch(/expected no compression/);
  expect(changed(1, 0x81)).toMatch(/a multiple of 32, got 1024.5/);
  expect(changed(1, 0x82)).toMatch(/a multiple of 32, got 1025/);
  expect(changed(15, 1)).toMatch(/the end of the header/);
  // 2^31 bytes, which an i32 cannot hold, and a number that does not end.
  for (const size of [
    [0x80, 0x80, 0x80, 0x80, 0x10],
    [0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
  ]) {
    const bytes = Uint8Array.of(0x15, ...size, ...PARQUET_XXHASH.subarray(3));
    const error = errorOf(() => ParquetFilter.decode(bytes, { maxBytes: 2 ** 40 })) as FormatError;
    expect([error.code, error.offset]).toEqual(['parameters', 1]);
  }
  // The size with a byte of padding would be read, and written back shorter.
  const padded = Uint8Array.of(0x15, 0x80, 0x90, 0, ...PARQUET_XXHASH.subarray(3));
  expect(() => ParquetFilter.decode(padded)).toThrow(
    /expected a bitset size that is a multiple of 32, got 1024/,
  );
});

test('sizes as parquet-java has them: powers of two', () => {
  const bytes = (capacity: number, falsePositiveRate: number) =>
    ParquetFilter.create({ capacity, falsePositiveRate }).byteLength;
  expect(bytes(1, 0.01)).toBe(32);
  expect(bytes(1000, 0.01)).toBe(2048); // 9681 bits
  expect(bytes(100_000, 0.01)).toBe(131_072); // 968,100 bits
  expect(bytes(1_000_000, 0.001)).toBe(2_097_152); // 16,879,600 bits > 2^24: 4 MiB would be 2^25
  // Where its rounding up to blocks shows: it adds 255 and then clears bit 8.
  const ofBits = (bits: number) => bytes(1, (1 - Math.exp(-8 / (bits + 0.5))) ** 8);
  expect([256, 257, 512, 513, 520, 521].map(ofBits)).toEqual([32, 64, 128, 64, 64, 128]);
  expect(() => bytes(10 ** 9, 0.01)).toThrow(/Cannot use bits: expected an integer from 0 to 1073741824/);
  const filter = ParquetFilter.create({ capacity: 1000 });
  for (const key of KEYS) filter.add(key);
  expect(filter.estimatedFalsePositiveRate()).toBeLessThan(0.01);
  expect(filter.union(filter).equals(filter)).toBe(true);
});

test('keys as columns store them', () => {
  expect([...plainBytes(-2, 'INT32')]).toEqual([254, 255, 255, 255]);
  expect([...plainBytes(-2n, 'INT64')]).toEqual([254, 255, 255, 255, 255, 255, 255, 255]);
  expect([...plainBytes(1.5, 'FLOAT')]).toEqual([0, 0, 0xc0, 0x3f]);
  expect([...plainBytes(1.5, 'DOUBLE')]).toEqual([0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
  expect(() => plainBytes(2 ** 31, 'INT32')).toThrow(
    /Cannot use value: expected an integer from -2147483648/,
  );
  expect(() => plainBytes(2n ** 63n, 'INT64')).toThrow(/64-bit integer/);
  // 2 ** 53 may have been rounded.
  expect(() => plainBytes(2 ** 53, 'INT64')).toThrow(/Cannot use value: expected a safe integer or a bigint/);
  expect(() => plainBytes(0.5, 'INT64')).toThrow(/Cannot use value: expected a safe integer or a bigint/);
  expect([...plainBytes(2n ** 63n - 1n, 'INT64')]).toEqual([255, 255, 255, 255, 255, 255, 255, 127]);
  expect(plainBytes(-2n, 'INT32')).toEqual(plainBytes(-2, 'INT32'));
  expect(() => plainBytes(2n ** 31n, 'INT32')).toThrow(
    /Cannot use value: expected an integer from -2147483648/,
  );
  expect(() => plainBytes('5' as never, 'DOUBLE')).toThrow(
    'Cannot use value: expected a number or a bigint, got string',
  );
  expect(() => plainBytes(1, 'INT96' as never)).toThrow(
    /Cannot use type: expected INT32, INT64, FLOAT or DOUBLE, got INT96/,
  );
  const filter = ParquetFilter.create({ capacity: 100 });
  filter.add(42); // an INT64
  expect(filter.has(plainBytes(42, 'INT64'))).toBe(true);
  expect(filter.has(42n)).toBe(true);
  expect(filter.has(plainBytes(42, 'INT32'))).toBe(false);
  // The library's own key for 2^64 - 1 has nine bytes, a column's has eight.
  filter.add(-1);
  expect(filter.has(BigInt.asIntN(64, 2n ** 64n - 1n))).toBe(true);
  expect(() => filter.has(2n ** 64n - 1n)).toThrow(
    /expected a 64-bit integer for a column of INT64, got 18446744073709551615 \(for unsigned/,
  );
  expect(() => filter.add(2n ** 63n)).toThrow(RangeError);
});

test('what no header can declare is not written', () => {
  // 2 GiB, without allocating them.
  const huge = Object.create(BlockedBloomFilter.prototype, {
    layout: { value: 'split-block' },
    byteLength: { value: 2 ** 31 },
  });
  expect(() => new ParquetFilter(huge).encode()).toThrow(
    /Cannot use byteLength: expected .* to 2147483616, got 2147483648/,
  );
});

test('only split blocks', () => {
  expect(() => new ParquetFilter(new BlockedBloomFilter({ blocks: 1, hashes: 8 }))).toThrow(
    /layout 'split-block', got BlockedBloomFilter\(1 blocks, 8 hashes, blocked/,
  );
});
