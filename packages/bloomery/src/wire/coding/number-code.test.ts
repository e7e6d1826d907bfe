import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { FrameError } from '../../frames/envelope.ts';
import { ByteReader, ByteWriter } from './byte-stream.ts';
import type { Effort } from './encode-bits.ts';
import { digitsOf, type Numbers, numbersOf, readNumbers, writeNumbers } from './number-code.ts';

function codeOf(values: Numbers, digits: number, effort: Effort = 'small'): Uint8Array {
  const writer = new ByteWriter();
  writeNumbers(writer, values, digits, effort);
  return writer.finish();
}

function numbersIn(code: Uint8Array, count: number, digits: number): Numbers {
  const reader = new ByteReader(code);
  const values = readNumbers(reader, count, digits);
  reader.end();
  return values;
}

function filled(count: number, digits: number, valueAt: (i: number) => number): Numbers {
  const values = numbersOf(count, digits);
  for (let i = 0; i < count; i++) values[i] = valueAt(i);
  return values;
}

/** The entropy of the values, as they are distributed in the array, in bytes. */
function entropyBytes(values: Numbers): number {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= count * Math.log2(count / values.length);
  return bits / 8;
}

/** A number from 0 to 1, below 1. */
function unit(random: Random): number {
  return (random.bits() >>> 0) / 2 ** 32;
}

function poisson(random: Random, mean: number): number {
  let value = 0;
  for (let left = Math.exp(-mean), sum = unit(random), term = left; sum > left; left += term) {
    term *= mean / ++value;
  }
  return value;
}

test('digitsOf counts binary digits, up to 2^53 - 1', () => {
  for (const [value, digits] of [
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 2],
    [255, 8],
    [256, 9],
    [2 ** 32 - 1, 32],
    [2 ** 32, 33],
    [2 ** 53 - 1, 53],
  ]) {
    expect(digitsOf(value)).toBe(digits);
  }
});

inBothKernels('number codes', () => {
  test.each(['small', 'fast'] as const)('%s: numbers of every kind come back', (effort) => {
    const random = new Random(4);
    for (const digits of [1, 2, 7, 8, 16, 31, 32, 33, 36, 53]) {
      const most = 2 ** digits;
      for (const count of [1, 2, 31, 32, 33, 500]) {
        for (const valueAt of [
          () => 0,
          () => most - 1,
          () => Math.floor(unit(random) * most),
          () => Math.floor(most * unit(random) ** 8),
          () => (random.below(50) === 0 ? most - 1 : random.below(2)),
          (i: number) => Math.min(most - 1, i),
          () => Math.floor(most / 2),
        ]) {
          const values = filled(count, digits, valueAt);
          const code = codeOf(values, digits, effort);
          expect(numbersIn(code, count, digits), `${count} of ${digits} digits`).toEqual(values);
        }
      }
    }
    expect(codeOf(new Uint8Array(0), 8)).toEqual(new Uint8Array(0));
    expect(numbersIn(new Uint8Array(0), 0, 8)).toEqual(new Uint8Array(0));
  });

  test('numbers of known distributions take little more than their entropy', () => {
    const random = new Random(8);
    const count = 20_000;
    const geometric = (p: number) => Math.floor(Math.log(1 - unit(random)) / Math.log1p(-p));
    for (const [name, digits, valueAt, mostPercent] of [
      ['Poisson of mean 0.7', 8, () => poisson(random, 0.7), 0.4],
      ['Poisson of mean 40', 32, () => poisson(random, 40), 1.2],
      ['Poisson of mean 600', 32, () => poisson(random, 600), 2],
      ['geometric of mean 1000', 36, () => geometric(0.001), 0.6],
      ['one value', 32, () => 700, 0],
    ] as const) {
      const values = filled(count, digits, valueAt);
      // A constant has no entropy: 20 bytes for its planes and nodes. The estimate from the array
      // is too low where values are rare, by about half a bit for each distinct value.
      const distinct = new Set(values).size;
      const entropy = entropyBytes(values) + (distinct * Math.log2(count / distinct)) / 16;
      const bytes = codeOf(values, digits).length;
      expect(bytes, name).toBeGreaterThan(0.99 * entropy);
      expect(bytes, name).toBeLessThan((1 + mostPercent / 100) * entropy + 45);
    }
  });

  test('random digits are stored as they are, with a few bytes for the lengths', () => {
    const random = new Random(5);
    const values = filled(4000, 32, () => random.bits() >>> 0);
    expect(codeOf(values, 32).length).toBeLessThan(16_000 + 5 * 32);
  });

  test('prefixes, changed bytes and noise are FrameErrors or other numbers, never anything else', () => {
    const random = new Random(6);
    const values = filled(300, 20, () => Math.floor(2 ** 20 * unit(random) ** 9));
    const code = codeOf(values, 20);
    for (let length = 0; length < code.length; length++) {
      expect(() => numbersIn(code.subarray(0, length), 300, 20), `${length} bytes`).toThrow(FrameError);
    }
    expect(() => numbersIn(Uint8Array.of(...code, 0), 300, 20)).toThrow(/expected the end/);
    let accepted = 0;
    for (let round = 0; round < withEffort(3000); round++) {
      const bytes = round % 3 === 0 ? random.bytes(random.below(80)) : code.slice();
      if (round % 3 > 0) bytes[random.below(bytes.length)] ^= 1 + random.below(255);
      try {
        const read = numbersIn(bytes, 300, 20);
        accepted++;
        expect(read.every((value) => value < 2 ** 20)).toBe(true);
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
      }
    }
    expect(accepted).toBeGreaterThan(0);
  });

  test('the example of docs/spec/wire.md', () => {
    const code = Uint8Array.of(2, 0, 0x0d, 2, 0, 5, 1, 2, 1, 1, 0, 1);
    expect(codeOf(Uint8Array.of(5, 0, 1, 4), 8)).toEqual(code);
    expect(numbersIn(code, 4, 8)).toEqual(Uint8Array.of(5, 0, 1, 4));
  });

  test('a length of 0 in place of lengths, and digits beyond the last, are refused', () => {
    expect(() => numbersIn(Uint8Array.of(0), 5, 8)).toThrow(/expected a code of lengths, got none/);
    // One number of two digits: lengths 1, 1 (full), its digit raw, and a bit beyond it.
    expect(numbersIn(Uint8Array.of(1, 2, 1, 2, 0, 1), 1, 2)).toEqual(Uint8Array.of(3));
    expect(() => numbersIn(Uint8Array.of(1, 2, 1, 2, 0, 2), 1, 2)).toThrow(
      /zeros beyond the last of 1 raw digits/,
    );
  });
});
