import { DATASKETCHES, KEYS } from '@bloomery/testkit/golden/foreign-files';
import { expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { xxh64Words } from '../hashing/xxh64.ts';
import { DataSketchesFilter, type DataSketchesKey } from './datasketches.ts';
import { keyWords, loadKey } from './shared/foreign-key.ts';
import type { FormatError } from './shared/format-error.ts';

foreignContract<DataSketchesKey>({
  name: 'DataSketches',
  format: 'datasketches',
  file: DATASKETCHES,
  headerLength: 32,
  decode: DataSketchesFilter.decode,
  keys: KEYS,
  absent: (i) => `absent-${i}`,
  probe: 'x',
  bitBytes: 1200,
});

test('the header, and a count of ones that must be right if there is one', () => {
  const filter = DataSketchesFilter.decode(DATASKETCHES);
  expect([filter.seed, filter.hashes, filter.bits]).toEqual([9001n, 7, 9600]);
  const counted = Uint8Array.from(DATASKETCHES);
  const view = new DataView(counted.buffer);
  view.setBigInt64(24, BigInt(filter.onesCount()), true);
  expect(DataSketchesFilter.decode(counted).encode()).toEqual(counted);
  view.setBigInt64(24, BigInt(filter.onesCount() + 1), true);
  expect((errorOf(() => DataSketchesFilter.decode(counted)) as FormatError).message).toMatch(
    /expected at most 4985 ones, or -1 for no count, got 4986 \(at byte 24\)/,
  );
  view.setBigInt64(24, -2n, true);
  expect((errorOf(() => DataSketchesFilter.decode(counted)) as FormatError).code).toBe('payload');
  // C++ after update and query_and_update: too few. Every key is in all the same.
  view.setBigInt64(24, 7n, true);
  const few = DataSketchesFilter.decode(counted);
  expect(KEYS.every((key) => few.has(key))).toBe(true);
  expect(few.encode()).toEqual(counted);
});

test('create and add: the file that Java writes of these keys', () => {
  const filter = DataSketchesFilter.create({ capacity: 1000, falsePositiveRate: 0.01, seed: 9001n });
  for (const key of KEYS) filter.add(key);
  expect(filter.encode()).toEqual(DATASKETCHES);
  expect(filter.equals(DataSketchesFilter.decode(DATASKETCHES))).toBe(true);
  expect(filter.add('key-1')).toBe(false);
});

test('create: sizes as in BloomFilterBuilder, and no keys is the empty form', () => {
  const filter = DataSketchesFilter.create({ capacity: 250_000, falsePositiveRate: 0.01 });
  // getCapacity() of the Java library for the same parameters.
  expect([filter.bits, filter.hashes, filter.seed, filter.byteLength]).toEqual([2_396_288, 7, 9001n, 0]);
  const empty = filter.encode();
  expect([empty.length, ...empty.subarray(0, 4)]).toEqual([24, 3, 1, 21, 4]);
  expect(filter.add('')).toBe(false);
  expect(filter.encode()).toEqual(empty);
  const read = DataSketchesFilter.decode(empty);
  expect(read.equals(filter)).toBe(true);
  expect([read.add('x'), read.has('x'), read.equals(filter)]).toEqual([true, true, false]);
  expect(DataSketchesFilter.decode(read.encode()).has('x')).toBe(true);
  for (const seed of [-1, 0.5, 2n ** 64n, '5']) {
    const wrong = () =>
      DataSketchesFilter.create({ capacity: 1, falsePositiveRate: 0.1, seed: seed as never });
    expect(wrong).toThrow(/Cannot use seed: expected an integer from 0 to 2\^64 - 1/);
  }
  expect(() => DataSketchesFilter.create({ capacity: 2 ** 40, falsePositiveRate: 0.1 })).toThrow(/bits/);
});

test('add: an empty file that declares gigabytes allocates them only within the limit', () => {
  const empty = Uint8Array.of(3, 1, 21, 4, ...DATASKETCHES.subarray(4, 24));
  new DataView(empty.buffer).setUint32(16, 2 ** 29, true);
  const filter = DataSketchesFilter.decode(empty);
  expect(() => filter.add('x')).toThrow(
    'Cannot add a key: expected at most 1073741824 bytes of bits, got 4294967296 (decode with maxBytes)',
  );
  expect(filter.encode()).toEqual(empty);
});

test('addDouble: a double is no long, and neither program misses -0', () => {
  const filter = DataSketchesFilter.create({ capacity: 100, falsePositiveRate: 0.001 });
  expect([filter.addDouble(5), filter.addDouble(5)]).toEqual([true, false]);
  expect([filter.hasDouble(5), filter.has(5)]).toEqual([true, false]);
  filter.addDouble(-0);
  expect([filter.hasDouble(0), filter.hasDouble(-0)]).toEqual([true, true]);
  filter.addDouble(Number.NaN);
  expect(filter.hasDouble(Number.NaN)).toBe(true);
  expect(() => filter.addDouble('5' as never)).toThrow('Cannot use the key: expected a number, got string');
});

test('copy and merge: a copy is independent, and a merged filter has counted ones', () => {
  const one = DataSketchesFilter.create({ capacity: 100, falsePositiveRate: 0.01 });
  const two = one.copy();
  two.add('b');
  expect([one.has('b'), one.merge(two) === one, one.has('b')]).toEqual([false, true, true]);
  const ones = new DataView(one.encode().buffer).getBigInt64(24, true);
  expect(ones).toBe(BigInt(two.onesCount()));
  one.add('c'); // not counted any more
  expect(new DataView(one.encode().buffer).getBigInt64(24, true)).toBe(-1n);
});

test('early Java wrote a preamble of 3 longs before four', () => {
  const early = Uint8Array.from(DATASKETCHES);
  early[0] = 3;
  const filter = DataSketchesFilter.decode(early);
  expect(KEYS.every((key) => filter.has(key))).toBe(true);
  expect(filter.encode()).toEqual(early);
});

test('an empty filter is 24 bytes, has nothing, and costs nothing whatever it declares', () => {
  const empty = DATASKETCHES.slice(0, 24);
  empty[0] = 3;
  empty[3] = 4;
  new DataView(empty.buffer).setUint32(16, 2 ** 30, true);
  const filter = DataSketchesFilter.decode(empty);
  expect([filter.has('key-1'), filter.has(1), filter.onesCount(), filter.byteLength]).toEqual([
    false,
    false,
    0,
    0,
  ]);
  expect(filter.encode()).toEqual(empty);
  expect(filter.estimatedSize()).toBe(0);
  // In a union it adds nothing, on either side.
  new DataView(empty.buffer).setUint32(16, 150, true);
  const nothing = DataSketchesFilter.decode(empty);
  const full = DataSketchesFilter.decode(DATASKETCHES);
  for (const union of [nothing.union(full), full.union(nothing)]) {
    expect(KEYS.every((key) => union.has(key))).toBe(true);
    expect(union.encode().subarray(32)).toEqual(DATASKETCHES.subarray(32));
  }
  expect(nothing.union(nothing).encode()).toEqual(empty);
});

test('longs and doubles are other keys; the empty string is in no filter', () => {
  // One key in a filter of 640 bits, made by the definition in BigInt.
  const make = (key: Uint8Array) => {
    const bytes = new Uint8Array(32 + 80);
    bytes.set(DATASKETCHES.subarray(0, 32));
    const view = new DataView(bytes.buffer);
    view.setUint32(16, 10, true);
    const xxh64 = (seed: bigint) => {
      const out = new Int32Array(2);
      const length = loadKey(key);
      xxh64Words(
        keyWords(),
        length,
        Number(BigInt.asIntN(32, seed)),
        Number(BigInt.asIntN(32, seed >> 32n)),
        out,
      );
      return (BigInt(out[1] >>> 0) << 32n) | BigInt(out[0] >>> 0);
    };
    const h0 = xxh64(9001n);
    const h1 = xxh64(h0);
    for (let i = 1n; i <= 7n; i++) {
      const index = Number((BigInt.asUintN(64, h0 + i * h1) >> 1n) % 640n);
      bytes[32 + (index >> 3)] |= 1 << (index & 7);
    }
    return DataSketchesFilter.decode(bytes);
  };
  const five = make(Uint8Array.of(5, 0, 0, 0, 0, 0, 0, 0));
  expect([five.has(5), five.has(5n), five.hasDouble(5), five.has('5')]).toEqual([true, true, false, false]);
  const double = make(Uint8Array.of(0, 0, 0, 0, 0, 0, 0x14, 0x40));
  expect([double.hasDouble(5), double.has(5)]).toEqual([true, false]);
  const nan = make(Uint8Array.of(0, 0, 0, 0, 0, 0, 0xf8, 0x7f));
  expect(nan.hasDouble(Number.NaN)).toBe(true);
  // -0.0 is 0.0 in C++ and a key of its own in Java: neither may be missed.
  const zero = make(new Uint8Array(8));
  expect([zero.hasDouble(0), zero.hasDouble(-0)]).toEqual([true, true]);
  const minus = make(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0x80));
  expect([minus.hasDouble(0), minus.hasDouble(-0)]).toEqual([false, true]);
  expect(() => five.hasDouble('5' as never)).toThrow('Cannot use the key: expected a number, got string');
  const nothing = make(new Uint8Array(0));
  expect([nothing.has(''), nothing.has(new Uint8Array(0))]).toEqual([false, true]);
  const both = five.union(double);
  expect([both.has(5), both.hasDouble(5)]).toEqual([true, true]);
  expect(DataSketchesFilter.decode(both.encode()).onesCount()).toBe(both.onesCount());
  expect(() => five.union(DataSketchesFilter.decode(DATASKETCHES))).toThrow(
    /Cannot merge unlike filters.*640 bits/,
  );
  expect(() => five.has(0.5)).toThrow(/safe integer/);
});

test('what is wrong is named', () => {
  const changed = (at: number, value: number) => {
    const bytes = Uint8Array.from(DATASKETCHES);
    bytes[at] = value;
    return errorOf(() => DataSketchesFilter.decode(bytes)) as FormatError;
  };
  expect(changed(0, 5).message).toMatch(/expected a preamble of 3 or 4 longs, got 5/);
  expect(changed(1, 2).code).toBe('version');
  expect(changed(2, 18).message).toMatch(/expected family 21, Bloom filters, got 18/);
  expect(changed(4, 0).message).toMatch(/expected k from 1 to 32767, got 0/);
  expect(changed(19, 0xff).message).toMatch(/expected 1 to 1073741824 longs/);
  expect(changed(16, 0).message).toMatch(/expected 1 to 1073741824 longs, got 0/);
  expect(changed(5, 0x80).message).toMatch(/expected k from 1 to 32767, got 32775/);
});
