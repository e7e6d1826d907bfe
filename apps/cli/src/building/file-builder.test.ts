import { BloomFilter, hashKeys, type RotatingBloomFilter } from 'bloomery';
import { afterEach, expect, test, vi } from 'vitest';
import { FileBuilder } from './file-builder.ts';
import type { BuildParameters } from './open-structure.ts';

afterEach(() => vi.restoreAllMocks());

test('FileBuilder makes one structure if its size is known', () => {
  const made = vi.spyOn(BloomFilter, 'forCapacity');
  const builder = new FileBuilder({ structure: 'bloom', capacity: 1000, files: 1 });
  expect([builder.needsCapacity, builder.takesHashes, builder.keepsHashes]).toEqual([false, true, false]);
  builder.add(hashKeys(['a', 'b'], builder.scheme), 0);
  const filter = builder.finish() as BloomFilter;
  expect(made).toHaveBeenCalledTimes(1);
  expect([filter.capacity, filter.has('a'), filter.has('c')]).toEqual([1000, true, false]);
});

test('FileBuilder makes a small structure until the number of keys is known', () => {
  const made = vi.spyOn(BloomFilter, 'forCapacity');
  const builder = new FileBuilder({ structure: 'bloom', files: 2 });
  const { scheme } = builder;
  expect(builder.needsCapacity).toBe(true);
  expect(() => builder.add(hashKeys(['a'], scheme), 0)).toThrow(
    /^Cannot add keys: expected a call of sizeFor/,
  );
  builder.sizeFor([300, 700]);
  expect(builder.scheme.id).toBe(scheme.id);
  builder.add(hashKeys(['a'], scheme), 0);
  expect((builder.finish() as BloomFilter).has('a')).toBe(true);
  expect(made.mock.calls.map(([{ capacity }]) => capacity)).toEqual([1, 1000]);
});

test('FileBuilder makes a structure with a filter per file for the longest file', () => {
  const builder = new FileBuilder({ structure: 'rotating', files: 2 });
  builder.sizeFor([300, 700]);
  expect((builder.finish() as RotatingBloomFilter).capacity).toBe(700);
});

test('FileBuilder is made for at least one key', () => {
  const builder = new FileBuilder({ structure: 'bloom', files: 1 });
  builder.sizeFor([0]);
  expect((builder.finish() as BloomFilter).capacity).toBe(1);
});

test.each<[string, Pick<BuildParameters, 'structure' | 'hashes'>, RegExp]>([
  [
    'an option of another structure',
    { structure: 'static', hashes: 3 },
    /^--hashes means nothing for --structure/,
  ],
  ['a value that the library refuses', { structure: 'bloom', hashes: 1e6 }, /hashes/],
])('FileBuilder refuses %s before any key', (_what, parameters, message) => {
  expect(() => new FileBuilder({ files: 1, ...parameters })).toThrow(message);
});
