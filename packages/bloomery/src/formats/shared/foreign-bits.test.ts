import { describe, expect, test } from 'vitest';
import { ForeignBits } from './foreign-bits.ts';

describe.each(['bytes', 'big-endian words'] as const)('ForeignBits in the order %s', (order) => {
  test('probe sets the bits of a key, and finds them', () => {
    const bits = ForeignBits.zeros(16, order);
    const indexAt = (i: number) => [3, 64, 127][i];
    expect(bits.probe(3, false, indexAt)).toBe(false);
    expect(bits.probe(3, true, indexAt)).toBe(true);
    expect(bits.probe(3, false, indexAt)).toBe(true);
    expect(bits.ones()).toBe(3);
    expect([3, 64, 127].every((index) => bits.has(index))).toBe(true);
  });

  test('probe reports a change if one bit was 0, whichever it is', () => {
    for (const fresh of [0, 1, 2]) {
      const bits = ForeignBits.zeros(16, order);
      for (const [i, index] of [3, 64, 127].entries()) if (i !== fresh) bits.set(index);
      expect(bits.probe(3, false, (i) => [3, 64, 127][i])).toBe(false);
      expect(bits.probe(3, true, (i) => [3, 64, 127][i])).toBe(true);
      expect(bits.probe(3, true, (i) => [3, 64, 127][i])).toBe(false);
    }
  });

  test('probe asks for no further index once a bit is 0', () => {
    const asked: number[] = [];
    const bits = ForeignBits.zeros(16, order);
    bits.set(5);
    bits.probe(4, false, (i) => {
      asked.push(i);
      return i === 0 ? 5 : 9;
    });
    expect(asked).toEqual([0, 1]);
  });
});

test('estimates from the ones hold for ranges that are shorter than the bits', () => {
  const bits = ForeignBits.zeros(2);
  expect([bits.estimatedSize(16, 2), bits.estimatedRate(16, 2)]).toEqual([0, 0]);
  for (let index = 0; index < 8; index++) bits.set(index);
  expect(bits.estimatedRate(16, 2)).toBe(0.25);
  // (1 - 1/16)^(2n) = 1/2.
  expect(Math.abs(bits.estimatedSize(16, 2) / (Math.log(0.5) / Math.log(15 / 16) / 2) - 1)).toBeLessThan(
    1e-14,
  );
  expect([bits.estimatedSize(6, 2), bits.estimatedRate(6, 2)]).toEqual([Number.POSITIVE_INFINITY, 1]);
});
