import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ReconcileError } from '../reconcile-error.ts';
import { ByteReader } from './byte-reader.ts';
import { decodeSortedList, encodeSortedList } from './sorted-list.ts';

function sorted(random: Random, count: number, bits: number): Float64Array {
  const value = () =>
    Math.floor(((random.bits() >>> 0) / 2 ** 32 + (random.bits() >>> 0) / 2 ** 64) * 2 ** bits);
  return Float64Array.from({ length: count }, value).sort();
}

function decode(bytes: Uint8Array, most = 1e6) {
  return decodeSortedList(new ByteReader(bytes, 'test'), most);
}

test('decodeSortedList gives the numbers back, of any width', () => {
  const random = new Random(1);
  for (const bits of [0, 1, 7, 24, 40, 52]) {
    for (const count of [0, 1, 2, 100, 3000]) {
      const values = sorted(random, count, bits);
      expect(decode(encodeSortedList(values, bits))).toEqual({ bits, values });
    }
  }
});

test('encodeSortedList takes t - log2(n) + 1.6 bits per number at most', () => {
  const random = new Random(2);
  for (const count of [100, 1000, 10_000]) {
    const bytes = encodeSortedList(sorted(random, count, 40), 40).length;
    expect((8 * bytes) / count).toBeLessThan(40 - Math.log2(count) + 1.6 + 50 / count);
  }
});

test('decodeSortedList refuses every strict prefix, and bytes that declare too much', () => {
  const bytes = encodeSortedList(sorted(new Random(3), 40, 30), 30);
  for (let length = 0; length < bytes.length; length++)
    expect(() => decode(bytes.subarray(0, length)), `${length} bytes`).toThrow(ReconcileError);
  expect(() => decode(bytes, 39)).toThrow(/at most 39, got 40/);
  expect(() => decode(Uint8Array.of(...bytes, 0))).toThrow(/end of the list/);
  expect(() => decode(Uint8Array.of(53, 0, 0))).toThrow(/at most 52 bits/);
  expect(() => decode(Uint8Array.of(8, 0, 255, 255, 3, 1))).toThrow(/65535 numbers, got 8 bits/);
  expect(() => decode(Uint8Array.of(2, 0, 1, 0x1f))).toThrow(/a number of 2 bits, got 5/);
  expect(() => decode(Uint8Array.of(2, 0, 1, 0x80))).toThrow(/the end of the list/);
});
