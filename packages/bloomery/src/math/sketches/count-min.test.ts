import { describe, expect, test } from 'vitest';
import { countMinErrorBound, countMinExactRate, sizeCountMin } from './count-min.ts';

describe('sizeCountMin', () => {
  test('is e/epsilon by ln(1/delta), rounded up', () => {
    // e/0.01 = 271.83, ln 100 = 4.605; e/0.001 = 2718.28, ln 10^4 = 9.21; e/0.5 = 5.44, ln 2 = 0.69
    expect(sizeCountMin({ epsilon: 0.01, delta: 0.01 })).toEqual({ width: 272, depth: 5 });
    expect(sizeCountMin({ epsilon: 0.001, delta: 1e-4 })).toEqual({ width: 2719, depth: 10 });
    expect(sizeCountMin({ epsilon: 0.5, delta: 0.5 })).toEqual({ width: 6, depth: 1 });
  });

  test('says which of the two is wrong', () => {
    for (const wrong of [0, 1, -1, Number.NaN, '0.1']) {
      expect(() => sizeCountMin({ epsilon: wrong as number, delta: 0.1 })).toThrow(/epsilon/);
      expect(() => sizeCountMin({ epsilon: 0.1, delta: wrong as number })).toThrow(/delta/);
    }
    expect(() => sizeCountMin({ epsilon: 1e-12, delta: 0.1 })).toThrow(
      /^Cannot use epsilon: .* got 1e-12, which needs/,
    );
  });
});

describe('countMinErrorBound', () => {
  test('is epsilon·N where the confidence is 1 - delta', () => {
    const size = { width: 272, depth: 5 };
    // 1 - e^-5 is rounded by up to 2^-54, which is 8.3e-15 of e^-5. The fifth root makes that
    // 1.7e-15 of 9994, and the other roundings are smaller: together less than 5e-11.
    expect(countMinErrorBound(size, 1e6, 1 - Math.exp(-5))).toBeCloseTo((Math.E / 272) * 1e6, 10);
    // One row, one half: Markov's inequality itself, twice the mean.
    expect(countMinErrorBound({ width: 10, depth: 1 }, 500, 0.5)).toBe(100);
    expect(countMinErrorBound(size, 0, 0.9)).toBe(0);
  });

  test('grows with the confidence and falls with either dimension', () => {
    const bound = (width: number, depth: number, confidence: number) =>
      countMinErrorBound({ width, depth }, 1000, confidence);
    expect(bound(100, 3, 0.99)).toBeGreaterThan(bound(100, 3, 0.9));
    expect(bound(200, 3, 0.9)).toBe(bound(100, 3, 0.9) / 2);
    expect(bound(100, 4, 0.9)).toBeLessThan(bound(100, 3, 0.9));
    expect(() => bound(0, 3, 0.9)).toThrow(/width/);
    expect(() => bound(10, 0, 0.9)).toThrow(/depth/);
    expect(() => bound(10, 1, 1)).toThrow(/confidence/);
    expect(() => countMinErrorBound({ width: 1, depth: 1 }, -1, 0.9)).toThrow(/total/);
  });
});

describe('countMinExactRate', () => {
  test('known answers', () => {
    expect(countMinExactRate({ width: 10, depth: 3 }, 0)).toBe(1);
    // exp, expm1 and two log1p are wrong by less than 2^-53 each, together by less than 4.5e-16.
    expect(countMinExactRate({ width: 2, depth: 1 }, 1)).toBeCloseTo(1 / 2, 15);
    expect(countMinExactRate({ width: 2, depth: 2 }, 1)).toBeCloseTo(3 / 4, 15);
    expect(countMinExactRate({ width: 2, depth: 2 }, 2)).toBeCloseTo(7 / 16, 15);
    expect(countMinExactRate({ width: 1, depth: 4 }, 1)).toBe(0);
    expect(countMinExactRate({ width: 1, depth: 4 }, 0)).toBe(1);
  });

  test('by enumeration: two others in three columns and two rows', () => {
    let exact = 0;
    for (let places = 0; places < 3 ** 4; places++) {
      // Others 0 and 1 in row 0, then others 0 and 1 in row 1.
      const column = (i: number) => Math.floor(places / 3 ** i) % 3;
      const clean = (row: number) => column(2 * row) !== 0 && column(2 * row + 1) !== 0;
      if (clean(0) || clean(1)) exact++;
    }
    // exp, expm1 and two log1p are wrong by less than 2^-53 each, together by less than 4.5e-16.
    expect(countMinExactRate({ width: 3, depth: 2 }, 2)).toBeCloseTo(exact / 81, 15);
  });

  test('refuses what is no count', () => {
    expect(() => countMinExactRate({ width: 0, depth: 1 }, 1)).toThrow(/width/);
    expect(() => countMinExactRate({ width: 1, depth: 0 }, 1)).toThrow(/depth/);
    expect(() => countMinExactRate({ width: 1, depth: 1 }, 1.5)).toThrow(/others/);
  });
});
