import { expectCount, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { AdaptiveBitReader, AdaptiveBitWriter } from './adaptive-bits.ts';

test('AdaptiveBitReader reads what the writer wrote, at any probability', () => {
  const random = new Random(11);
  for (const share of [0, 1, 10, 500, 990, 1000]) {
    const bits = Array.from({ length: 20_000 }, () => (random.below(1000) < share ? 1 : 0));
    const writer = new AdaptiveBitWriter(4);
    for (const [i, bit] of bits.entries()) writer.write(bit, i % 4);
    const bytes = writer.finish();
    const reader = new AdaptiveBitReader(bytes, 4);
    const read = bits.map((_, i) => reader.read(i % 4));
    expect(read, `${share} in 1000 are ones`).toEqual(bits);
    expect(reader.overrun).toBe(0);
  }
});

test('numbers of several digits come back, and a carry runs through all bytes before it', () => {
  const random = new Random(12);
  const values = Array.from({ length: 50_000 }, () => Math.floor(2 ** (random.below(800) / 100)) % 64);
  const writer = new AdaptiveBitWriter(64);
  for (const value of values) writer.writeNumber(value, 6, 0);
  const reader = new AdaptiveBitReader(writer.finish(), 64);
  expect(values.map(() => reader.readNumber(6, 0))).toEqual(values);
});

test('AdaptiveBitWriter comes close to the entropy of its contexts', () => {
  const random = new Random(13);
  const count = 80_000;
  const writer = new AdaptiveBitWriter(2);
  for (let i = 0; i < count; i++) writer.write(random.below(100) < (i % 2 === 0 ? 5 : 50) ? 1 : 0, i % 2);
  // 0.2864 and 1 bits per decision. Following the probability costs some 2 %; the number of ones
  // varies by 0.2 %.
  const entropy = (count / 2) * (1.2864 / 8);
  expectCount(writer.finish().length, 1.015 * entropy, 0.005 * entropy, 'bytes');
});

test('a code that is cut off is read as zeros, and says so', () => {
  const writer = new AdaptiveBitWriter(1);
  for (let i = 0; i < 1000; i++) writer.write((i * 7919) & 1, 0);
  const reader = new AdaptiveBitReader(writer.finish().subarray(0, 20), 1);
  for (let i = 0; i < 1000; i++) reader.read(0);
  expect(reader.overrun).toBeGreaterThan(4);
});
