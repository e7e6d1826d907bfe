import { expect, test } from 'vitest';
import { normalProbability, normalQuantile } from './normal.ts';

// Standard tables (for example Abramowitz and Stegun 26.2, extended), to the digits given.
test.each([
  [0.5, 0],
  [0.75, 0.674489750196082],
  [0.9, 1.2815515655446],
  [0.95, 1.64485362695147],
  [0.975, 1.95996398454005],
  [0.995, 2.5758293035489],
  [0.9995, 3.2905267314919],
  [1e-10, -6.36134090240406],
  [1e-20, -9.26234008979841],
])('quantile of %d is %d', (p, x) => {
  expect(Math.abs(normalQuantile(p) - x)).toBeLessThan(1e-13);
});

test('five standard deviations: 2.8665e-7 in each tail', () => {
  expect(normalProbability(-5).toPrecision(5)).toBe('2.8665e-7');
  expect((1 - normalProbability(5)).toPrecision(5)).toBe('2.8665e-7');
});

test('probability against numerical integration', () => {
  // Simpson over [-12, x]; 4000 steps leave an error below 1e-12.
  for (const x of [-4, -3.001, -2.999, -1, -0.1, 0, 0.3, 1.7, 2.999, 3.001, 4.5]) {
    const steps = 4000;
    const width = (x + 12) / steps;
    let sum = 0;
    for (let i = 0; i <= steps; i++) {
      const weight = i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2;
      sum += weight * Math.exp(-0.5 * (-12 + i * width) ** 2);
    }
    const want = (sum * width) / 3 / Math.sqrt(2 * Math.PI);
    expect(Math.abs(normalProbability(x) - want), `x = ${x}`).toBeLessThan(1e-12);
  }
});

test('they are inverse to each other', () => {
  for (let x = -30; x < 5; x += 0.037) {
    // Above 0 the probability approaches 1 and loses digits: its spacing over the density is the
    // best possible.
    const bound = 1e-11 + (x > 0 ? (1e-16 * Math.sqrt(2 * Math.PI)) / Math.exp(-0.5 * x * x) : 0);
    expect(Math.abs(normalQuantile(normalProbability(x)) - x), `x = ${x}`).toBeLessThan(bound);
  }
});

test('edges', () => {
  expect(normalProbability(Number.POSITIVE_INFINITY)).toBe(1);
  expect(normalProbability(Number.NEGATIVE_INFINITY)).toBe(0);
  expect(() => normalProbability(Number.NaN)).toThrow(RangeError);
  expect(() => normalQuantile(0)).toThrow(
    new RangeError('Cannot use p: expected strictly between 0 and 1, got 0'),
  );
  expect(() => normalQuantile(1)).toThrow(RangeError);
});
