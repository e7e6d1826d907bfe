import { expect, test } from 'vitest';
import { pathAlarmRate } from './path-alarm.ts';
import { planPath } from './plan-path.ts';

test('planPath finds the fewest bytes, and the best number of bits per node for them', () => {
  for (const hops of [1, 2, 4, 8, 16]) {
    for (const repeats of [1, 2, 3]) {
      for (const falseAlarmRate of [0.3, 0.01, 1e-4]) {
        const plan = planPath({ hops, falseAlarmRate, repeats });
        const full = planByFullSearch(hops, falseAlarmRate, repeats);
        const what = JSON.stringify({ hops, repeats, falseAlarmRate });
        expect(plan.bits, what).toBe(full.bits);
        // Two numbers of bits per node can be equally good.
        expect(plan.falseAlarmRate, what).toBeLessThanOrEqual(full.falseAlarmRate * (1 + 1e-12));
      }
    }
  }
});

test('planPath gives the rate of its own plan, below the one asked for', () => {
  const plan = planPath({ hops: 32, falseAlarmRate: 1e-3, repeats: 2 });
  expect(plan.falseAlarmRate).toBe(pathAlarmRate(plan.bits, plan.hashes, 32, 2));
  expect(plan.falseAlarmRate).toBeLessThanOrEqual(1e-3);
  expect([plan.bits, planPath({ hops: 32, falseAlarmRate: 1e-3 }).bits]).toEqual([264, 536]);
});

test('planPath says which rate the largest filter reaches', () => {
  expect(() => planPath({ hops: 255, falseAlarmRate: 1e-9 })).toThrow(
    /^Cannot plan a path filter: expected a rate of at least \S+, the best of 2040 bits on 255 hops, got 1e-9$/,
  );
});

/** Every size and every number of bits per node, in order. */
function planByFullSearch(hops: number, wanted: number, repeats: number) {
  for (let bits = 8; ; bits += 8) {
    let best = { bits, hashes: 0, repeats, falseAlarmRate: 2 };
    for (let hashes = 1; hashes <= Math.min(bits, 64); hashes++) {
      const falseAlarmRate = pathAlarmRate(bits, hashes, hops, repeats);
      if (falseAlarmRate < best.falseAlarmRate) best = { bits, hashes, repeats, falseAlarmRate };
    }
    if (best.falseAlarmRate <= wanted) return best;
  }
}
