import { expect, test } from 'vitest';
import { naturalLog } from './natural-log.ts';
import { robustSoliton } from './robust-soliton.ts';

test('naturalLog agrees with Math.log', () => {
  for (let x = 1e-9; x < 1e12; x *= 1.37)
    expect(Math.abs(naturalLog(x) - Math.log(x))).toBeLessThanOrEqual(
      2e-15 * Math.max(1, Math.abs(Math.log(x))),
    );
  expect(naturalLog(1)).toBe(0);
});

test.each([1, 2, 3, 10, 100, 1000, 4000, 8192])('robustSoliton sums to 1 for %i blocks', (k) => {
  const { probabilities, meanDegree, spike } = robustSoliton(k);
  let sum = 0;
  let mean = 0;
  for (const [d, share] of probabilities.entries()) {
    expect(share).toBeGreaterThanOrEqual(0);
    sum += share;
    mean += d * share;
  }
  // Each of up to 1,000 additions errs by less than 2^-53.
  expect(sum).toBeCloseTo(1, 12);
  expect(meanDegree).toBeCloseTo(mean, 10);
  expect(probabilities.length).toBe(spike + 1);
  expect(spike).toBeLessThanOrEqual(k);
});

test('robustSoliton has the weights of the definition, up to the spike', () => {
  const k = 1000;
  const [c, delta] = [0.03, 0.5];
  const R = c * Math.log(k / delta) * Math.sqrt(k);
  const { probabilities, spike } = robustSoliton(k, c, delta);
  expect(spike).toBe(Math.round(k / R));
  // The ratio of two weights does not depend on the normalisation, which errs by some 2^-53.
  expect(probabilities[2] / probabilities[1]).toBeCloseTo((1 / 2 + R / (2 * k)) / (1 / k + R / k), 10);
  expect(probabilities[3] / probabilities[2]).toBeCloseTo((1 / 6 + R / (3 * k)) / (1 / 2 + R / (2 * k)), 10);
  expect(probabilities[spike] / probabilities[2]).toBeCloseTo(
    (1 / (spike * (spike - 1)) + (R * Math.log(R / delta)) / k) / (1 / 2 + R / (2 * k)),
    10,
  );
});
