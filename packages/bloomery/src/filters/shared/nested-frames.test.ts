import { describe, expect, test } from 'vitest';
import { FrameError } from '../../frames/envelope.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { BloomFilter } from '../bloom-filter.ts';
import { joinFilters, splitFilters } from './nested-frames.ts';

const filterOf = (bits: number, key: string) => {
  const filter = new BloomFilter({ bits, hashes: 2 });
  filter.add(key);
  return filter;
};
const filters = [
  { filter: filterOf(100, 'a'), note: 0 },
  { filter: filterOf(7, 'b'), note: 2 ** 48 - 1 },
  { filter: filterOf(1000, 'c'), note: 3 },
];
const { scheme } = filters[0].filter;
const read = (payload: Uint8Array, count = 3, start = 50) =>
  splitFilters({ payload, start, count, scheme, key: undefined });

function errorOf(work: () => unknown): FrameError {
  try {
    work();
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
  throw new Error('no error');
}

describe('filters within a frame', () => {
  test('come back in order, with their notes and where they begin', () => {
    const payload = joinFilters(filters);
    const again = read(payload);
    expect(again.map(({ note }) => note)).toEqual([0, 2 ** 48 - 1, 3]);
    expect(again.every(({ filter }, i) => filter.equals(filters[i].filter))).toBe(true);
    const lengths = filters.map(({ filter }) => 12 + filter.encode().length);
    expect(again.map(({ at }) => at)).toEqual([50, 50 + lengths[0], 50 + lengths[0] + lengths[1]]);
    expect(payload.length).toBe(lengths[0] + lengths[1] + lengths[2]);
    expect(read(new Uint8Array(0), 0)).toEqual([]);
  });

  test('the layout is the documented one', () => {
    const payload = joinFilters([{ filter: filters[0].filter, note: 0x0102_0304_0506 }]);
    expect([...payload.subarray(0, 6)]).toEqual([6, 5, 4, 3, 2, 1]);
    expect([...payload.subarray(6, 12)]).toEqual([payload.length - 12, 0, 0, 0, 0, 0]);
    expect(payload.subarray(12)).toEqual(filters[0].filter.encode());
  });

  test('every strict prefix, and every wrong number of filters, is a FrameError', () => {
    const payload = joinFilters(filters);
    for (let length = 0; length < payload.length; length++) {
      const error = errorOf(() => read(payload.subarray(0, length)));
      expect(error.offset).toBeLessThanOrEqual(50 + length);
    }
    expect(errorOf(() => read(payload, 2)).message).toMatch(/after the last of 2 filters/);
    expect(errorOf(() => read(payload, 4)).message).toMatch(/filter 4 of 4 goes beyond/);
  });

  test('lengths that lie are seen before anything is read', () => {
    const payload = joinFilters(filters);
    for (const length of [0, 5, payload.length - 12, 2 ** 40]) {
      const changed = Uint8Array.from(payload);
      for (let i = 0, rest = length; i < 6; i++, rest = Math.floor(rest / 256)) changed[6 + i] = rest;
      errorOf(() => read(changed));
    }
  });

  test('errors of an inner frame say which one, at the offset of the outer bytes', () => {
    const payload = joinFilters(filters);
    const second = 12 + filters[0].filter.encode().length + 12;
    payload[second] ^= 1;
    const error = errorOf(() => read(payload));
    expect([error.code, error.offset]).toEqual(['not-a-frame', 50 + second]);
    expect(error.message).toMatch(/filter 2 of 3/);
  });

  test('filters of another hash than the outer frame are refused', () => {
    const other = new BloomFilter({ bits: 10, hashes: 1, seed: 7 });
    const payload = joinFilters([{ filter: other, note: 0 }]);
    expect(errorOf(() => read(payload, 1)).message).toMatch(/by forge64\/0, got forge64\/7/);
    const key = new SecretKey(new Uint8Array(16));
    const keyed = new BloomFilter({ bits: 10, hashes: 1, key });
    const bytes = joinFilters([{ filter: keyed, note: 0 }]);
    expect(errorOf(() => read(bytes, 1)).code).toBe('key');
    expect(splitFilters({ payload: bytes, start: 0, count: 1, scheme: keyed.scheme, key })).toHaveLength(1);
  });
});
