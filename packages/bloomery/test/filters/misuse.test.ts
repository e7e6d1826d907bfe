/** Calls that are wrong: each is an error that names its cause, and none is ignored. */

import { describe, expect, test } from 'vitest';
import { readFrameLayout } from '../../src/frames.ts';
import {
  BlockedBloomFilter,
  BloomFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  HeavyHitters,
  hashKey,
  hashKeys,
  intersectionEstimate,
  jaccardEstimate,
  packKeys,
  RangeSketch,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SpectralBloomFilter,
  StaticFilter,
  scalableSizeEstimate,
  sizeEstimate,
  unionEstimate,
} from '../../src/index.ts';

const filter = BloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.01 });

describe('misspelt options', () => {
  test.each<[string, () => unknown]>([
    ['hashKey', () => hashKey('a', { sed: 7 } as never)],
    ['hashKeys', () => hashKeys(['a'], { sed: 7 } as never)],
    ['sizeEstimate', () => sizeEstimate(filter, { confidense: 0.5 } as never)],
    ['unionEstimate', () => unionEstimate(filter, filter, { confidense: 0.5 } as never)],
    ['intersectionEstimate', () => intersectionEstimate(filter, filter, { confidense: 0.5 } as never)],
    ['jaccardEstimate', () => jaccardEstimate(filter, filter, { confidense: 0.5 } as never)],
    [
      'scalableSizeEstimate',
      () => scalableSizeEstimate(new ScalableBloomFilter({ falsePositiveRate: 0.1 }), { level: 1 } as never),
    ],
    ['readFrameLayout', () => readFrameLayout(filter.encode(), { secret: 1 } as never)],
  ])('%s refuses them by name', (name, call) => {
    expect(call).toThrow(TypeError);
    expect(call).toThrow(new RegExp(`^Cannot use ${name}: expected .*, got option '`));
  });
});

test.each<[string, () => unknown]>([
  ['BloomFilter', () => new BloomFilter(undefined as never)],
  ['BloomFilter', () => new BloomFilter(null as never)],
  ['BloomFilter.forCapacity', () => BloomFilter.forCapacity(undefined as never)],
  ['BlockedBloomFilter', () => new BlockedBloomFilter(undefined as never)],
  ['CountMinSketch', () => new CountMinSketch(undefined as never)],
])('%s without options says which it expects', (name, call) => {
  expect(call).toThrow(new RegExp(`^Cannot use ${name}: expected [a-zA-Z, ]+, got (undefined|null)$`));
});

test('packKeys refuses a string and bytes, whose parts are no keys', () => {
  expect(() => packKeys('apple')).toThrow(/^Cannot pack keys: expected an iterable of keys, got string$/);
  expect(() => packKeys(Uint8Array.of(1, 2))).toThrow(/got a Uint8Array$/);
  expect(() => packKeys(undefined as never)).toThrow(/got undefined$/);
  expect(packKeys(['apple']).offsets).toEqual(Uint32Array.of(0, 5));
});

test('forCapacity keeps rates that would need more than 255 hashes at their best', () => {
  for (const create of [BloomFilter, CountingBloomFilter]) {
    const tiny = create.forCapacity({ capacity: 3, falsePositiveRate: 1e-300 });
    expect(tiny.hashes).toBe(255);
    tiny.addMany(['a', 'b', 'c']);
    expect(tiny.estimatedFalsePositiveRate()).toBeLessThan(1e-250);
  }
  expect(() => BloomFilter.forCapacity({ capacity: 1e9, falsePositiveRate: 1e-300 })).toThrow(
    /^Cannot use capacity 1000000000 at falsePositiveRate 1e-300: expected at most 68719476736 bits, got more$/,
  );
});

test.each<[string, object]>([
  ['BloomFilter', filter],
  ['BlockedBloomFilter', BlockedBloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.01 })],
  ['CountingBloomFilter', CountingBloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.01 })],
  ['SpectralBloomFilter', SpectralBloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.01 })],
  ['HashList', new HashList({ bits: 64 })],
  ['ScalableBloomFilter', new ScalableBloomFilter({ falsePositiveRate: 0.1 })],
  ['RotatingBloomFilter', new RotatingBloomFilter({ capacity: 10, falsePositiveRate: 0.1, generations: 2 })],
  ['CountMinSketch', new CountMinSketch({ width: 16, depth: 2 })],
  ['HeavyHitters', new HeavyHitters({ threshold: 0.1, width: 64, depth: 2 })],
  ['RangeSketch', new RangeSketch({ universeBits: 8, exactBits: 8 })],
  ['StaticFilter', StaticFilter.from(['a', 'b'])],
])('the parameters of a %s cannot be changed', (_, structure) => {
  const names = Object.keys(structure);
  expect(names.length).toBeGreaterThan(0);
  for (const name of [...names, 'extra']) {
    expect(() => ((structure as Record<string, unknown>)[name] = 5), name).toThrow(TypeError);
  }
});

test('a subclass of a filter may have fields of its own', () => {
  class Named extends BloomFilter {
    label = 'mine';
  }
  const named = new Named({ bits: 64, hashes: 2 });
  named.label = 'yours';
  named.add('a');
  expect(named.has('a') && named.label).toBe('yours');
});
