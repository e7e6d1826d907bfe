import { expect, test } from 'vitest';
import { stepsToLoss } from './loss-time.ts';

test('stepsToLoss is a harmonic sum where no new key uses the counter', () => {
  // 16 keys use the counter, and the event is the departure of the 15th of them.
  let sum = 0;
  for (let users = 2; users <= 16; users++) sum += 1000 / users;
  // The same sum in another order: only rounding.
  expect(stepsToLoss({ maximum: 15, keys: 1000, share: 0 })).toBeCloseTo(sum, 9);
  expect(stepsToLoss({ maximum: 1, keys: 10, share: 0 })).toBe(5);
});

test('stepsToLoss agrees with a walk of the chain, state by state', () => {
  const [maximum, keys, share] = [3, 20, 0.05];
  // Powers of the transition matrix: the mean is the sum over t of P(not yet at 0 after t steps).
  let chain = new Map([[`${maximum} 1`, 1]]);
  let mean = 0;
  for (let t = 0; t < 20_000; t++) {
    const next = new Map<string, number>();
    const put = (s: number, d: number, p: number) => next.set(`${s} ${d}`, (next.get(`${s} ${d}`) ?? 0) + p);
    for (const [state, p] of chain) {
      mean += p;
      const [s, d] = state.split(' ').map(Number);
      for (const leaves of [0, 1]) {
        for (const comes of [0, 1]) {
          const weight = p * (leaves ? (s + d) / keys : 1 - (s + d) / keys) * (comes ? share : 1 - share);
          if (weight === 0 || s - leaves === 0) continue;
          const full = comes === 1 && s - leaves === maximum;
          put(full ? maximum : s - leaves + comes, full ? d + 1 : d, weight);
        }
      }
    }
    chain = next;
  }
  // What is left after 20,000 steps is below 1e-12, and the sum has that many roundings.
  expect(stepsToLoss({ maximum, keys, share })).toBeCloseTo(mean, 6);
});
