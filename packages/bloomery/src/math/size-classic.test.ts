import { describe, expect, test } from 'vitest';
import { MAX_BITS } from './checks.ts';
import { rateAsymptotic, ratePartitioned } from './rates.ts';
import { type ClassicSizeRequest, sizeClassic } from './size-classic.ts';
import { rateTrue } from './true-rate.ts';

describe('smallest', () => {
  test('found by trying every m and k', () => {
    for (const layout of ['classic', 'partitioned'] as const) {
      for (const multipleOf of [1, 8, 12]) {
        for (const capacity of [1, 2, 3, 5, 12]) {
          for (const falsePositiveRate of [0.7, 0.5, 0.2, 0.1, 0.03, 0.01, 0.001]) {
            const got = sizeClassic({ capacity, falsePositiveRate, layout, multipleOf });
            expect(got, `${layout} ${capacity} ${falsePositiveRate} ${multipleOf}`).toEqual(
              byTrial(layout, capacity, falsePositiveRate, multipleOf),
            );
          }
        }
      }
    }
  });

  test('rates that few hashes cannot reach with any size', () => {
    expect(sizeClassic({ capacity: 1, falsePositiveRate: 1e-40 })).toMatchObject({ bits: 214, hashes: 106 });
    expect(() => sizeClassic({ capacity: 1, falsePositiveRate: 1e-40, hashes: 3 })).toThrow('got more');
  });

  test('one bit fewer breaks the promise with every k', () => {
    for (const capacity of [20, 100, 1000, 1e6, 1e9]) {
      for (const falsePositiveRate of [0.3, 0.01, 1e-4]) {
        const { bits, hashes, falsePositiveRate: rate } = sizeClassic({ capacity, falsePositiveRate });
        expect(rate).toBe(rateTrue(bits, hashes, capacity));
        expect(rate).toBeLessThanOrEqual(falsePositiveRate);
        for (let k = Math.max(1, hashes - 2); k <= hashes + 2; k++) {
          expect(rateTrue(bits - 1, k, capacity)).toBeGreaterThan(falsePositiveRate);
        }
      }
    }
  });

  test('close to the closed form for large filters: 1.44 log2(1/p) bits per key (survey 2.2)', () => {
    for (const k of [1, 3, 7, 20, 40]) {
      // At p = 2^-k the closed form is exact; the integer k costs nothing there.
      const capacity = 1e8;
      const { bits, hashes } = sizeClassic({ capacity, falsePositiveRate: 2 ** -k });
      expect(hashes).toBe(k);
      expect(Math.abs(bits / ((capacity * k) / Math.LN2) - 1)).toBeLessThan(1e-6);
    }
  });

  test('the example of the essay: 1000 keys at 1 %', () => {
    // -n ln p/(ln 2)² = 9585.06; rounding up and k = 7 does not keep 1 %.
    expect(rateTrue(9586, 7, 1000).toPrecision(5)).toBe('0.010044');
    expect(sizeClassic({ capacity: 1000, falsePositiveRate: 0.01 })).toMatchObject({ bits: 9595, hashes: 7 });
  });

  test('up to the largest sizes, quickly', () => {
    const { bits, hashes } = sizeClassic({ capacity: 7e9, falsePositiveRate: 0.01 });
    expect(bits).toBeLessThan(MAX_BITS);
    expect(hashes).toBe(7);
    expect(rateAsymptotic(bits, hashes, 7e9)).toBeLessThanOrEqual(0.01);
    expect(sizeClassic({ capacity: 1e9, falsePositiveRate: 1e-12 }).hashes).toBe(40);
  });
});

describe('constraints', () => {
  test('one key at 1/2: two bits and one function', () => {
    expect(sizeClassic({ capacity: 1, falsePositiveRate: 0.5 })).toEqual({
      bits: 2,
      hashes: 1,
      falsePositiveRate: 0.5,
    });
  });

  test('hashes fixed or limited', () => {
    const free = sizeClassic({ capacity: 1000, falsePositiveRate: 0.001 });
    const fixed = sizeClassic({ capacity: 1000, falsePositiveRate: 0.001, hashes: 4 });
    const capped = sizeClassic({ capacity: 1000, falsePositiveRate: 0.001, maxHashes: 4 });
    expect(fixed).toEqual(capped);
    expect(fixed.hashes).toBe(4);
    expect(fixed.bits).toBeGreaterThan(free.bits);
    expect(rateTrue(fixed.bits - 1, 4, 1000)).toBeGreaterThan(0.001);
  });

  test('multiples, and the fewest hashes among equals', () => {
    const got = sizeClassic({ capacity: 1, falsePositiveRate: 0.01, multipleOf: 64 });
    expect(got).toMatchObject({ bits: 64, hashes: 2 });
    const sliced = sizeClassic({
      capacity: 1000,
      falsePositiveRate: 0.01,
      multipleOf: 64,
      layout: 'partitioned',
    });
    expect(sliced.bits % (64 * sliced.hashes)).toBe(0);
  });

  test('more keys or a lower rate never need fewer bits', () => {
    let before = 0;
    for (let capacity = 1; capacity < 400; capacity += 7) {
      const { bits } = sizeClassic({ capacity, falsePositiveRate: 0.02 });
      expect(bits).toBeGreaterThan(before);
      before = bits;
    }
    before = 0;
    for (let power = 1; power < 20; power++) {
      const { bits } = sizeClassic({ capacity: 50, falsePositiveRate: 2 ** -power });
      expect(bits).toBeGreaterThan(before);
      before = bits;
    }
  });

  test('what cannot be had is refused', () => {
    expect(() => sizeClassic({ capacity: 1e10, falsePositiveRate: 1e-12 })).toThrow(
      new RangeError(
        `Cannot use capacity 10000000000 at falsePositiveRate 1e-12: expected at most ${MAX_BITS} bits, got more`,
      ),
    );
    expect(() => sizeClassic({ capacity: 1e6, falsePositiveRate: 1e-9, hashes: 1 })).toThrow(
      /at most 1 hashes/,
    );
    expect(() => sizeClassic({ capacity: 1e6, falsePositiveRate: 1e-9, maxHashes: 1 })).toThrow(/at most 1/);
    expect(() => sizeClassic({ capacity: 10, falsePositiveRate: 0.1, hashes: 5, maxHashes: 4 })).toThrow(
      new RangeError('Cannot use hashes: expected an integer from 1 to 4, got 5'),
    );
  });

  test.each([
    [
      { capacity: 0, falsePositiveRate: 0.1 },
      'Cannot use capacity: expected an integer of at least 1, got 0',
    ],
    [
      { capacity: 1, falsePositiveRate: 1.5 },
      'Cannot use falsePositiveRate: expected strictly between 0 and 1, got 1.5',
    ],
    [
      { capacity: 1, falsePositiveRate: 0 },
      'Cannot use falsePositiveRate: expected strictly between 0 and 1, got 0',
    ],
    [{ capacity: 1, falsePositiveRate: 0.1, multipleOf: 0 }, /^Cannot use multipleOf: /],
    [{ capacity: 1, falsePositiveRate: 0.1, layout: 'blocked' }, /^Cannot use layout: expected/],
  ])('%j', (request, message) => {
    expect(() => sizeClassic(request as ClassicSizeRequest)).toThrow(message);
  });
});

function byTrial(layout: 'classic' | 'partitioned', n: number, rate: number, multipleOf: number) {
  const rateOf = layout === 'classic' ? rateTrue : ratePartitioned;
  for (let bits = multipleOf; ; bits += multipleOf) {
    for (let hashes = 1; hashes <= 24; hashes++) {
      if (layout === 'partitioned' && bits % (multipleOf * hashes) !== 0) continue;
      const falsePositiveRate = rateOf(bits, hashes, n);
      if (falsePositiveRate <= rate) return { bits, hashes, falsePositiveRate };
    }
  }
}
