import { expect, test } from 'vitest';
import { MAX_PATH_BITS, MAX_PATH_HASHES, pathAlarmRate } from './path-alarm.ts';

test('pathAlarmRate counts the alarms among all choices of bits', () => {
  for (const [m, k, h] of [
    [1, 1, 4],
    [3, 3, 3],
    [4, 1, 6],
    [4, 2, 5],
    [5, 3, 4],
    [6, 2, 4],
    [7, 4, 3],
  ] as const) {
    for (const r of [1, 2, 3]) {
      const exact = alarmsByEnumeration({ m, k, h, r });
      const got = pathAlarmRate(m, k, h, r);
      // A few hundred additions of positive terms.
      expect(Math.abs(got - exact), `m ${m}, k ${k}, h ${h}, r ${r}`).toBeLessThan(1e-13);
    }
  }
});

test('pathAlarmRate is 0 for the first node and one in C(m, k) for the second', () => {
  for (const [m, k] of [
    [8, 3],
    [64, 4],
    [256, 12],
    [MAX_PATH_BITS, MAX_PATH_HASHES],
  ] as const) {
    let subsets = 1;
    for (let i = 0; i < k; i++) subsets *= (m - i) / (k - i);
    expect(pathAlarmRate(m, k, 0)).toBe(0);
    expect(pathAlarmRate(m, k, 1)).toBe(0);
    expect(Math.abs(pathAlarmRate(m, k, 2) * subsets - 1)).toBeLessThan(1e-12);
  }
});

test('pathAlarmRate reaches 1 on long paths, and loses no probability on the way', () => {
  for (const r of [1, 2, 7]) {
    expect(Math.abs(pathAlarmRate(16, 3, 255, r) - 1)).toBeLessThan(1e-12);
    let last = 0;
    for (let h = 1; h < 40; h++) {
      const rate = pathAlarmRate(32, 3, h, r);
      expect(rate).toBeGreaterThanOrEqual(last);
      expect(rate).toBeLessThanOrEqual(1 + 1e-12);
      last = rate;
    }
  }
});

test('pathAlarmRate falls with the repetitions', () => {
  for (let r = 1; r < 15; r++)
    expect(pathAlarmRate(64, 4, 32, r + 1)).toBeLessThan(pathAlarmRate(64, 4, 32, r));
});

test('pathAlarmRate refuses what no header can say', () => {
  expect(() => pathAlarmRate(MAX_PATH_BITS + 1, 4, 4)).toThrow('Cannot use m');
  expect(() => pathAlarmRate(32, 33, 4)).toThrow('Cannot use k');
  expect(() => pathAlarmRate(256, 65, 4)).toThrow('Cannot use k');
  expect(() => pathAlarmRate(32, 2, 256)).toThrow('Cannot use h');
  expect(() => pathAlarmRate(32, 2, 4, 0)).toThrow('Cannot use r');
});

/** The share of all sequences of h k-subsets of m bits in which r in a row change nothing. */
function alarmsByEnumeration({ m, k, h, r }: { m: number; k: number; h: number; r: number }): number {
  const masks: number[] = [];
  for (let mask = 0; mask < 1 << m; mask++) if (ones(mask) === k) masks.push(mask);
  const walk = (node: number, filter: number, run: number): number => {
    if (run === r) return masks.length ** (h - node);
    if (node === h) return 0;
    let alarms = 0;
    for (const mask of masks)
      alarms += walk(node + 1, filter | mask, (filter | mask) === filter ? run + 1 : 0);
    return alarms;
  };
  return walk(0, 0, 0) / masks.length ** h;
}

function ones(mask: number): number {
  let count = 0;
  for (let rest = mask; rest > 0; rest &= rest - 1) count++;
  return count;
}
