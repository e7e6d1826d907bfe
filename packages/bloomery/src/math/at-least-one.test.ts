import { expect, test } from 'vitest';
import { atLeastOne, atLeastOneOf, eachOfAtLeastOne } from './at-least-one.ts';

/** Some roundings of 2^-53 each. */
const ROUNDING = 8 * 2 ** -53;

test('atLeastOne is 1 minus the probability that all trials fail', () => {
  for (const [p, n] of [
    [0.5, 3],
    [0.25, 2],
    [0.125, 1],
  ]) {
    expect(Math.abs(atLeastOne(p, n) / (1 - (1 - p) ** n) - 1)).toBeLessThan(ROUNDING);
  }
});

test('atLeastOne keeps its digits where 1 - p cannot', () => {
  // 1 - (1-p)^n = np - n(n-1)/2 p², and the next term is below the last digit.
  const [p, n] = [1e-12, 5];
  expect(Math.abs(atLeastOne(p, n) / (n * p - 10 * p * p) - 1)).toBeLessThan(ROUNDING);
});

test('atLeastOne of certain and of impossible events', () => {
  expect(atLeastOne(0, 7)).toBe(0);
  expect(atLeastOne(1, 7)).toBe(1);
  expect(atLeastOne(0.3, 0)).toBe(0);
  expect(atLeastOne(1 / 32, 1)).toBe(1 / 32);
});

test('atLeastOneOf equals atLeastOne for equal probabilities, and is the product for others', () => {
  expect(Math.abs(atLeastOneOf([0.1, 0.1, 0.1]) / atLeastOne(0.1, 3) - 1)).toBeLessThan(ROUNDING);
  expect(Math.abs(atLeastOneOf([0.5, 0.25, 0.75]) / (1 - 0.5 * 0.75 * 0.25) - 1)).toBeLessThan(ROUNDING);
  expect(atLeastOneOf([])).toBe(0);
  expect(Object.is(atLeastOneOf([0, 0]), 0)).toBe(true);
  expect(atLeastOneOf([0.2, 1])).toBe(1);
});

test('eachOfAtLeastOne is the inverse of atLeastOne', () => {
  for (const p of [1e-15, 1e-3, 0.5, 0.99]) {
    for (const n of [1, 2, 4, 31]) {
      // At p = 0.99 the last step magnifies a rounding by -ln(1-p)·(1-p)/p, which is below 1.
      expect(Math.abs(atLeastOne(eachOfAtLeastOne(p, n), n) / p - 1)).toBeLessThan(ROUNDING);
    }
  }
});
