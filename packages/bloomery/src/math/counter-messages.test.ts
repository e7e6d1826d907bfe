import { expect, test } from 'vitest';
import {
  counterBits,
  counterBitsDeviation,
  counterDeltaBits,
  counterDeltaBitsDeviation,
} from './counter-messages.ts';
import { binaryEntropy, compressedBits, compressedBitsDeviation, deltaBits } from './entropy.ts';

test('counterBits is 1.59 bits per counter where a Bloom filter is half full', () => {
  expect((counterBits(1e6, 1, 1e6 * Math.LN2) / 1e6).toFixed(2)).toBe('1.59');
  expect(counterBits(1e6, 1, 0)).toBe(0);
});

test('counters that are nearly never above 1 take as much as bits, and scatter less', () => {
  const [m, k, n] = [1e9, 1, 1000];
  // The difference is of second order in kn/m = 1e-6.
  expect(counterBits(m, k, n) / compressedBits(m, k, n)).toBeCloseTo(1, 5);
  // Two keys that meet in a bit save the log2(m/kn) bits of a one. In a counter they save one bit.
  const ratio = counterBitsDeviation(m, k, n) / compressedBitsDeviation(m, k, n);
  expect(ratio * Math.log2(m / (k * n))).toBeGreaterThan(0.99);
  expect(ratio * Math.log2(m / (k * n))).toBeLessThan(1.01);
  // In a sparse array, new ones appear among the zeros, and of the old ones a share c goes.
  const [c, x] = [0.05, (k * n) / m];
  const expected = m * binaryEntropy(c * x) + k * n * binaryEntropy(c);
  expect(counterDeltaBits(m, k, n, c) / expected).toBeGreaterThan(0.999);
  expect(counterDeltaBits(m, k, n, c) / expected).toBeLessThan(1.001);
  // Less than for bits that are coded without regard to the old ones.
  expect(counterDeltaBits(m, k, n, c)).toBeLessThan(0.7 * deltaBits(m, k, n, c));
});

test('deltas take nothing without changes, and more with more of them', () => {
  const sizes = [0, 0.001, 0.01, 0.05, 0.2, 0.5].map((c) => counterDeltaBits(1e5, 5, 1e4, c));
  expect(sizes[0]).toBe(0);
  expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
  expect(counterDeltaBitsDeviation(1e5, 5, 1e4, 0)).toBe(0);
  expect(counterDeltaBitsDeviation(1e5, 5, 1e4, 0.05)).toBeGreaterThan(0);
});

test('the normal distribution takes over without a jump', () => {
  const at = (x: number) => counterDeltaBits(1000, 1, 1000 * x, 0.3) / 1000;
  expect(at(50.01) / at(50)).toBeGreaterThan(0.97);
  expect(at(50.01) / at(50)).toBeLessThan(1.03);
  const deviation = (x: number) => counterDeltaBitsDeviation(1000, 1, 1000 * x, 0.3);
  expect(deviation(50.01) / deviation(50)).toBeGreaterThan(0.8);
  expect(deviation(50.01) / deviation(50)).toBeLessThan(1.25);
  const whole = (x: number) => counterBits(1000, 1, 1000 * x);
  expect(Math.abs(whole(1000.0001) / whole(1000) - 1)).toBeLessThan(1e-6);
  const scatter = (x: number) => counterBitsDeviation(1000, 1, 1000 * x);
  expect(Math.abs(scatter(1000.0001) / scatter(1000) - 1)).toBeLessThan(0.01);
});

test('arguments are checked', () => {
  expect(() => counterBits(0, 1, 1)).toThrow(RangeError);
  expect(() => counterDeltaBits(10, 1, 1, 2)).toThrow(RangeError);
});
