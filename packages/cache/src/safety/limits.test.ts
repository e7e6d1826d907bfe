import { describe, expect, it } from 'vitest';
import { checkLimits, DEFAULT_LIMITS, LIMIT_NAMES, LIMITS } from './limits.ts';

describe('limits', () => {
  it('have defaults within their ranges, a unit that fits the name, and a reason', () => {
    for (const name of LIMIT_NAMES) {
      const info = LIMITS[name];
      expect(info.default, name).toBeGreaterThanOrEqual(info.min);
      expect(info.default, name).toBeLessThanOrEqual(info.max);
      expect(DEFAULT_LIMITS[name]).toBe(info.default);
      expect(info.unit, name).toBe(name.endsWith('Bytes') ? 'bytes' : name.endsWith('Ms') ? 'ms' : 'count');
      expect(info.why.length, name).toBeGreaterThan(20);
      // A timer of Node with a longer wait fires at once.
      if (info.unit === 'ms') expect(info.max).toBeLessThan(2 ** 31);
    }
  });

  it('accept their own defaults', () => expect(checkLimits()).toEqual(DEFAULT_LIMITS));

  it('cannot be changed', () => {
    expect(Object.isFrozen(checkLimits())).toBe(true);
    expect(Object.isFrozen(DEFAULT_LIMITS)).toBe(true);
  });

  it.each(LIMIT_NAMES.map((name) => [name]))('%s is held to its range', (name) => {
    const { min, max } = LIMITS[name];
    expect(checkLimits({ [name]: min })[name]).toBe(min);
    expect(checkLimits({ [name]: max })[name]).toBe(max);
    for (const wrong of [min - 1, max + 1]) expect(() => checkLimits({ [name]: wrong })).toThrow(RangeError);
    for (const wrong of ['5', null, Number.NaN, Number.POSITIVE_INFINITY, 1.5, -1.5, true, {}]) {
      expect(() => checkLimits({ [name]: wrong as number })).toThrow(TypeError);
    }
  });

  it('refuse a name that does not exist', () => {
    expect(() => checkLimits({ headByte: 5 } as object)).toThrow(
      /^Cannot set limit "headByte": expected one of headBytes/,
    );
    expect(() => checkLimits(JSON.parse('{"__proto__": 5}'))).toThrow(TypeError);
    expect(() => checkLimits({ toString: 5 } as object)).toThrow(TypeError);
  });

  it('refuse two that contradict each other, and let a default follow the one that was written', () => {
    expect(() => checkLimits({ urlBytes: 9000, headBytes: 8000 })).toThrow(
      /^Cannot set limit urlBytes: expected at most headBytes \(8000\), got 9000$/,
    );
    expect(checkLimits({ headBytes: 4096 }).urlBytes).toBe(4096);
    expect(checkLimits({ urlBytes: 100_000 }).headBytes).toBe(100_000);
    expect(checkLimits({ requestTimeoutMs: 500 }).headTimeoutMs).toBe(500);
    expect(checkLimits({ connections: 10 }).connectionsPerClient).toBe(10);
  });

  it('treat undefined as not written', () => {
    expect(checkLimits({ headBytes: undefined } as object)).toEqual(DEFAULT_LIMITS);
  });
});
