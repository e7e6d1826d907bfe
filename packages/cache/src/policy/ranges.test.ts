import { describe, expect, it } from 'vitest';
import { type ByteRange, MAX_RANGES, parseContentRange, requestedRanges } from './ranges.ts';

const ranges = (value: string, length: number) => {
  const found = requestedRanges(value, length);
  return typeof found === 'string' ? found : found.map(({ start, end }) => [start, end]);
};

describe('Range (RFC 9110, 14.1.1, 14.2)', () => {
  it.each<[string, number[][] | 'all' | 'none']>([
    ['bytes=0-1', [[0, 2]]],
    ['bytes=1-', [[1, 10]]],
    ['bytes=-1', [[9, 10]]],
    ['bytes=-100', [[0, 10]]],
    ['bytes=5-100', [[5, 10]]],
    ['bytes=9-9', [[9, 10]]],
    ['BYTES=0-0', [[0, 1]]],
    [
      'bytes=0-0, 9-9',
      [
        [0, 1],
        [9, 10],
      ],
    ],
    [
      'bytes=9-9,0-0',
      [
        [9, 10],
        [0, 1],
      ],
    ],
    [
      'bytes= 0-0 ,, 5-6 ',
      [
        [0, 1],
        [5, 7],
      ],
    ],
    // What lies outside is left out, unless nothing is left.
    ['bytes=0-0, 20-30', [[0, 1]]],
    ['bytes=10-', 'none'],
    ['bytes=10-20, 30-', 'none'],
    ['bytes=-0', 'none'],
    // Joined where they overlap or touch (15.3.7.2).
    ['bytes=0-4, 2-6', [[0, 7]]],
    ['bytes=0-1, 2-3', [[0, 4]]],
    ['bytes=0-0, 4-4, 2-2, 1-3', [[0, 5]]],
    ['bytes=0-, 0-, 0-', [[0, 10]]],
    // Not understood: all.
    ['bytes', 'all'],
    ['bytes=', 'all'],
    ['bytes=-', 'all'],
    ['bytes=5-4', 'all'],
    ['bytes=a-b', 'all'],
    ['bytes=0-1;x', 'all'],
    ['bytes=0-1, x', 'all'],
    ['bytes=1', 'all'],
    ['bytes=--1', 'all'],
    ['bytes=0-1-2', 'all'],
    ['lines=0-1', 'all'],
    ['bytes=0-9999999999999999', 'all'],
    [`bytes=${'0-0,'.repeat(1000)}`, 'all'],
  ])('%.40s of ten bytes', (value, expected) => {
    expect(ranges(value, 10)).toEqual(expected);
  });

  it('of nothing is unsatisfiable', () => {
    expect(ranges('bytes=0-', 0)).toBe('none');
    expect(ranges('bytes=-5', 0)).toBe('none');
  });

  it('has a limit', () => {
    const list = (count: number) => Array.from({ length: count }, (_, i) => `${i * 2}-${i * 2}`).join();
    expect(requestedRanges(`bytes=${list(MAX_RANGES)}`, 1000)).toHaveLength(MAX_RANGES);
    expect(requestedRanges(`bytes=${list(MAX_RANGES + 1)}`, 1000)).toBe('all');
  });

  it('gives the bytes that were asked for, each once, whatever the ranges', () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      return (seed >>> 16) % below;
    };
    for (let round = 0; round < 500; round++) {
      const length = 1 + random(40);
      const wanted = new Set<number>();
      const specs = Array.from({ length: 1 + random(6) }, () => {
        const first = random(50);
        const last = first + random(10);
        for (let byte = first; byte <= Math.min(last, length - 1); byte++) wanted.add(byte);
        return `${first}-${last}`;
      });
      const found = requestedRanges(`bytes=${specs}`, length);
      const bytes: number[] = [];
      if (typeof found !== 'string') {
        for (const { start, end } of found as ByteRange[]) for (let b = start; b < end; b++) bytes.push(b);
      }
      expect(bytes.sort((a, b) => a - b)).toEqual([...wanted].sort((a, b) => a - b));
    }
  });
});

describe('Content-Range (RFC 9110, 14.4)', () => {
  it('is read', () => {
    expect(parseContentRange('bytes 4-9/10')).toEqual({ start: 4, end: 10, total: 10 });
    expect(parseContentRange('BYTES 0-0/1')).toEqual({ start: 0, end: 1, total: 1 });
  });

  it.each([
    'bytes 4-10/10',
    'bytes 5-4/10',
    'bytes 4-9/*',
    'bytes */10',
    'bytes=4-9/10',
    'bytes 4-9',
    'lines 1-2/3',
    'bytes 0-9999999999999999/99999999999999999',
    'nonsense',
  ])('%j is not used', (value) => {
    expect(parseContentRange(value)).toBeNull();
  });
});
