/**
 * A small filter of every structure, with some keys in it: for tests of what all frames have in
 * common.
 */

import type { AnyFilter } from '../src/filters/decode-filter.ts';
import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  HeavyHitters,
  RangeSketch,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SecretKey,
  SpectralBloomFilter,
  StaticFilter,
} from '../src/index.ts';

export const SAMPLE_KEY = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => 5 * i + 1));
const KEYS = Array.from({ length: 30 }, (_, i) => `key-${i}`);

type Hashing = { readonly key?: SecretKey; readonly seed?: number; readonly hash?: string };

/** A function for each structure, which takes a seed or a key. */
export const SAMPLES: Readonly<Record<string, (hashing?: Hashing) => AnyFilter>> = {
  BloomFilter: (h) => filled(new BloomFilter({ bits: 301, hashes: 5, capacity: 30, ...h })),
  BlockedBloomFilter: (h) => filled(new BlockedBloomFilter({ blocks: 3, hashes: 6, ...h })),
  CountingBloomFilter: (h) => filled(new CountingBloomFilter({ counters: 301, hashes: 4, ...h })),
  SpectralBloomFilter: (h) =>
    filled(
      new SpectralBloomFilter({ counters: 90, hashes: 3, counterBits: 8, method: 'recurring-minimum', ...h }),
    ),
  CountMinSketch: (h) => filled(new CountMinSketch({ width: 25, depth: 2, update: 'conservative', ...h })),
  BloomierFilter: (h) =>
    BloomierFilter.fromColumns(
      KEYS,
      KEYS.map((_, i) => i % 8),
      { valueBits: 3, ...h },
    ),
  StaticFilter: (h) => StaticFilter.from(KEYS, { fingerprintBits: 9, ...h }),
  HashList: (h) => HashList.from(KEYS, { falsePositiveRate: 0.01, ...h }),
  ScalableBloomFilter: (h) =>
    filled(new ScalableBloomFilter({ falsePositiveRate: 0.02, initialCapacity: 10, ...h })),
  RotatingBloomFilter: (h) =>
    filled(
      new RotatingBloomFilter({
        generations: 3,
        capacity: 15,
        falsePositiveRate: 0.02,
        rotateWhenFull: true,
        ...h,
      }),
    ),
  AttenuatedBloomFilter: (h) => {
    const filter = AttenuatedBloomFilter.forCapacity({
      levels: 2,
      capacity: 30,
      falsePositiveRate: 0.1,
      ...h,
    });
    filter.addMany(KEYS, 1);
    return filter;
  },
  HeavyHitters: (h) => {
    const filter = filled(new HeavyHitters({ width: 40, depth: 2, threshold: 0.1, ...h }));
    filter.add('heavy', 20);
    filter.add(-7n, 15);
    return filter;
  },
  RangeSketch: (h) => {
    const filter = new RangeSketch({ universeBits: 12, exactBits: 3, width: 40, depth: 2, ...h });
    filter.addMany(KEYS.map(sampleNumber));
    return filter;
  },
};

/** The number that stands for a key in the sample of `RangeSketch`, which takes integers. */
export function sampleNumber(key: string): number {
  return 97 * Number(key.split('-')[1]);
}

function filled<F extends { addMany(keys: string[]): unknown }>(filter: F): F {
  filter.addMany(KEYS);
  return filter;
}
