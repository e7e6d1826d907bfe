import { expect, test } from 'vitest';
import { SAMPLES } from '../../../test/sample-filters.ts';
import { BLOOM_FRAME } from '../../frames/frame-kinds.ts';
import { isLike, sectionsOf } from './payload-sections.ts';
import { Snapshot } from './snapshot.ts';

test('sections fill the payload of every structure without gaps', () => {
  for (const [name, make] of Object.entries(SAMPLES)) {
    if (name === 'BloomFilter' || name === 'BlockedBloomFilter') continue;
    const { kind, head, payload } = new Snapshot(make().encode());
    const sections = sectionsOf(kind, head);
    let end = 0;
    for (const section of sections) {
      expect(section.start, name).toBe(end);
      end = section.end;
    }
    expect(end, name).toBe(payload.length);
  }
  expect(() => sectionsOf(BLOOM_FRAME, { parameters: [8, 1, 0] })).toThrow(TypeError);
});

test('sections name the units that the structure has', () => {
  const formsOf = (name: string) => {
    const { kind, head } = new Snapshot(SAMPLES[name]().encode());
    return sectionsOf(kind, head).map(({ form, count, width }) => [form, count, width]);
  };
  expect(formsOf('CountingBloomFilter')).toEqual([['counters', 301, 4]]);
  expect(formsOf('CountMinSketch')).toEqual([
    ['bytes', 0, 0],
    ['counters', 50, 32],
  ]);
  expect(formsOf('ScalableBloomFilter')).toEqual([['filters', 2, 0]]);
});

test('isLike compares form, count and width', () => {
  const section = { form: 'counters', start: 0, end: 4, count: 8, width: 4, range: 0 } as const;
  expect(isLike({ ...section, start: 8, end: 12 }, section)).toBe(true);
  expect(isLike({ ...section, count: 9 }, section)).toBe(false);
  expect(isLike({ ...section, width: 8 }, section)).toBe(false);
  expect(isLike({ ...section, form: 'slots' }, section)).toBe(false);
  expect(isLike(undefined, section)).toBe(false);
});
