import { expect, test } from 'vitest';
import {
  expectedEntries,
  expectedPassing,
  meanUndercount,
  missProbability,
  passProbability,
  stageStrength,
} from './multistage.ts';

const MB = 1e6;

test('passProbability: a flow of T/10 with C = 100 MB, T = 1 MB, b = 1000, by the number of stages', () => {
  const strength = stageStrength(MB, 1000, 100 * MB);
  expect(strength).toBe(10);
  const known = ['1.111e-1', '1.235e-2', '1.372e-3', '1.524e-4', '1.694e-5'];
  for (const [i, text] of known.entries()) {
    expect(passProbability(strength, i + 1, MB / 10, MB).toExponential(3)).toBe(text);
  }
});

test('passProbability is 1 for heavy flows and for those that may pass by the mean alone', () => {
  expect(passProbability(10, 4, MB, MB)).toBe(1);
  expect(passProbability(10, 4, 2 * MB, MB)).toBe(1);
  expect(passProbability(10, 4, 0.95 * MB, MB)).toBe(1);
  expect(passProbability(0.5, 4, 10, MB)).toBe(1);
});

test('expectedPassing: 121.15 flows of 100,000 with k = 10, b = 1000, d = 4', () => {
  expect(expectedPassing(10, 1000, 4, 100_000).toFixed(2)).toBe('121.15');
  // A weak filter lets all of them pass, and the bound says no more than that.
  expect(expectedPassing(1, 1000, 4, 500)).toBe(500);
  expect(expectedPassing(2, 1000, 4, 500)).toBe(500);
});

test('sample and hold: e^-20 at an oversampling of 20, and the mean before the first sample', () => {
  expect(missProbability(MB, 20 / MB).toExponential(3)).toBe('2.061e-9');
  expect(meanUndercount(0.25)).toBe(3);
  expect(Math.round(expectedEntries(100 * MB, 20 / MB))).toBe(2000);
});
