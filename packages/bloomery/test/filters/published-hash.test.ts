/**
 * XXH64 in every structure: `hash: 'xxh64'` keeps the promises that hold for Forge64. The hash
 * itself is tested beside its code; these tests show what the structures do with it.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { decodeFilter } from '../../src/filters/decode-filter.ts';
import { readFrameHead } from '../../src/frames/frame-head.ts';
import {
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  RangeSketch,
  useKernel,
} from '../../src/index.ts';
import { SAMPLES, sampleNumber } from '../sample-filters.ts';

const XXH64 = { hash: 'xxh64', seed: 11 } as const;
const KEYS = Array.from({ length: 30 }, (_, i) => `key-${i}`);

afterEach(() => useKernel('auto'));

describe.each(Object.entries(SAMPLES))('%s by XXH64', (_, sample) => {
  test('the frame names the hash and its seed, and decodes to the same bytes', () => {
    const filter = sample(XXH64);
    const frame = filter.encode();
    expect(readFrameHead(frame).hash).toEqual({ name: 'xxh64', keyed: false, seed: 11n });
    const again = decodeFilter(frame);
    expect(again.scheme.id).toBe('xxh64/b');
    expect(again.encode()).toEqual(frame);
  });

  test('both kernels give the same bytes, which are not those of Forge64', () => {
    const [wasm, javascript] = (['wasm', 'javascript'] as const).map((kernel) => {
      useKernel(kernel);
      return sample(XXH64).encode();
    });
    expect(wasm).toEqual(javascript);
    expect(wasm.subarray(16)).not.toEqual(sample({ seed: 11 }).encode().subarray(16));
  });

  test('no key is lost, before and after decoding', () => {
    for (const kernel of ['wasm', 'javascript'] as const) {
      useKernel(kernel);
      const filter = sample(XXH64);
      for (const subject of [filter, decodeFilter(filter.encode())]) {
        for (const key of KEYS) expect(holds(subject, key), key).toBe(true);
      }
    }
  });
});

/** Whether a filter or sketch of any structure answers "maybe" for a key. */
function holds(filter: ReturnType<typeof decodeFilter>, key: string): boolean {
  if ('has' in filter) return filter.has(key);
  if (filter instanceof BloomierFilter) return filter.get(key) !== undefined;
  if (filter instanceof RangeSketch) return filter.count(sampleNumber(key)) > 0;
  return filter.count(key) > 0;
}

test('filters by unlike hashes do not merge, and the error prints both', () => {
  const options = { capacity: 100, falsePositiveRate: 0.01, seed: 11 };
  for (const Filter of [BloomFilter, BlockedBloomFilter, CountingBloomFilter]) {
    const [one, other] = [Filter.forCapacity(options), Filter.forCapacity({ ...options, hash: 'xxh64' })];
    const merge = () => one.merge(other as never);
    expect(merge).toThrow('forge64/b');
    expect(merge).toThrow('xxh64/b');
  }
});

test('a shared filter opens in another thread with its hash', () => {
  const filter = new BloomFilter({ bits: 1000, hashes: 4, shared: true, ...XXH64 });
  filter.add('a');
  const opened = new BloomFilter(filter.share());
  expect(opened.equals(filter)).toBe(true);
  expect(opened.scheme.id).toBe('xxh64/b');
});

test('split blocks are by XXH64 with seed 0, and by no other hash', () => {
  const split = { blocks: 4, layout: 'split-block' } as const;
  const expected = String(new BlockedBloomFilter(split));
  expect(String(new BlockedBloomFilter({ ...split, hash: 'xxh64' }))).toBe(expected);
  expect(String(new BlockedBloomFilter({ ...split, hash: 'xxh64/0' }))).toBe(expected);
  for (const wrong of [{ hash: 'forge64' }, { hash: 'xxh64', seed: 1 }, { hash: 'md5' }]) {
    expect(() => new BlockedBloomFilter({ ...split, ...wrong })).toThrow(RangeError);
  }
});
