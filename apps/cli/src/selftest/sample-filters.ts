/** A sample filter of every structure and layout, all with the same keys, for the self-checks. */

import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  HeavyHitters,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SecretKey,
  SpectralBloomFilter,
  StaticFilter,
} from 'bloomery';
import { decodeFilter, readFrameHead } from 'bloomery/frames';
import type { OwnFile } from '../files/filter-file.ts';
import { type OwnFilter, structureOf } from '../files/structures.ts';
import { keysUpTo } from './self-check.ts';

/** A public key for tests: the bytes 0 to 15. */
export const SAMPLE_KEY = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));

/** For each name, a function that builds a filter of `keysUpTo(count)` with that capacity. */
export const SAMPLES: Readonly<Record<string, (count: number) => OwnFilter>> = {
  bloom: (count) => filled(BloomFilter.forCapacity({ ...at(count) }), count),
  'bloom, partitioned': (count) =>
    filled(BloomFilter.forCapacity({ ...at(count), layout: 'partitioned' }), count),
  'bloom, keyed': (count) => filled(BloomFilter.forCapacity({ ...at(count), key: SAMPLE_KEY }), count),
  'bloom, seeded': (count) =>
    filled(BloomFilter.forCapacity({ ...at(count), seed: 0x0123456789abcdefn }), count),
  blocked: (count) => filled(BlockedBloomFilter.forCapacity(at(count)), count),
  'blocked, split-block': (count) =>
    filled(BlockedBloomFilter.forCapacity({ ...at(count), layout: 'split-block' }), count),
  counting: (count) => filled(CountingBloomFilter.forCapacity(at(count)), count),
  spectral: (count) => filled(SpectralBloomFilter.forCapacity({ ...at(count), counterBits: 8 }), count),
  'count-min': (count) => filled(new CountMinSketch({ width: 2 * count, depth: 3 }), count),
  bloomier: (count) => {
    const keys = keysUpTo(count);
    return BloomierFilter.fromColumns(
      keys,
      keys.map((_, i) => i % 16),
      { valueBits: 4, falsePositiveRate: RATE },
    );
  },
  static: (count) => StaticFilter.from(keysUpTo(count), { fingerprintBits: 8 }),
  'hash list': (count) => HashList.from(keysUpTo(count), { falsePositiveRate: RATE }),
  scalable: (count) => {
    const initialCapacity = Math.max(1, Math.floor(count / 2));
    return filled(new ScalableBloomFilter({ falsePositiveRate: RATE, initialCapacity }), count);
  },
  rotating: (count) => {
    const capacity = Math.ceil(count / 3);
    return filled(
      new RotatingBloomFilter({ generations: 3, capacity, falsePositiveRate: RATE, rotateWhenFull: true }),
      count,
    );
  },
  attenuated: (count) => {
    const filter = AttenuatedBloomFilter.forCapacity({ levels: 2, ...at(count) });
    filter.addMany(keysUpTo(count), 1);
    return filter;
  },
  'heavy hitters': (count) => {
    const filter = filled(new HeavyHitters({ width: 2 * count, depth: 2, threshold: 0.1 }), count);
    filter.add('heavy', Math.ceil(count / 2));
    return filter;
  },
};

/** Wraps a filter as if it had been read from a file. */
export function asFile(name: string, filter: OwnFilter): OwnFile {
  const frame = filter.encode();
  const structure = structureOf(readFrameHead(frame).structure);
  return { path: name, bytes: frame, frame, format: 'bloomery', structure, filter, coded: false };
}

/** Reads a frame of a sample back. */
export function decodeSample(name: string, frame: Uint8Array): OwnFilter {
  return decodeFilter(frame, name.endsWith('keyed') ? { key: SAMPLE_KEY } : {});
}

function at(capacity: number) {
  return { capacity, falsePositiveRate: RATE };
}

function filled<F extends { addMany(keys: string[]): unknown }>(filter: F, count: number): F {
  filter.addMany(keysUpTo(count));
  return filter;
}

const RATE = 0.01;
