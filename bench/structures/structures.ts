/** The library's other structures, each with all its ways in. */

import {
  AttenuatedBloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  type CountMinUpdate,
  HashList,
  type HashScheme,
  type Key,
  type KeyBatch,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SpectralBloomFilter,
  type SpectralMethod,
  StaticFilter,
  useKernel,
} from '../../packages/bloomery/dist/index.js';
import { eachOfAtLeastOne } from '../../packages/bloomery/dist/math/index.js';
import { hasher, libraryForms } from '../shared/library-forms.ts';
import { integerForm, type Subject } from '../shared/subject.ts';

const RATE = 0.01;

export function counting(capacity: number): Subject {
  useKernel('wasm');
  const full = CountingBloomFilter.forCapacity({ capacity, falsePositiveRate: RATE });
  const hash = hasher(full.scheme);
  return {
    forms: libraryForms(
      {
        add: (key) => full.add(key),
        addMany: (keys) => full.addMany(keys),
        has: (key) => full.has(key),
        hasMany: (keys) => full.hasMany(keys),
        delete: (key) => full.delete(key),
        deleteMany: (keys) => full.deleteMany(keys),
      },
      hash,
    ),
    fill: (chunk) => full.addMany(chunk.packed),
    undo: {
      add: (chunk) => full.deleteMany(chunk.packed),
      delete: (chunk) => full.addMany(chunk.packed),
    },
    hash,
    bits: () => full.byteLength * 8,
    figures: () => ({ bitsPerCounter: (full.byteLength * 8) / full.counters }),
    describe: () => String(full),
  };
}

export function countMin(epsilon: number, delta: number, update: CountMinUpdate): Subject {
  useKernel('wasm');
  const make = () => CountMinSketch.forError({ epsilon, delta, update });
  return counter(make(), make());
}

export function hashList(capacity: number): Subject {
  useKernel('wasm');
  const make = () => HashList.forCapacity({ capacity, falsePositiveRate: RATE });
  return membership(make(), make());
}

export function staticFilter(): Subject {
  useKernel('wasm');
  let full = buildStatic([]);
  const hash = hasher(full.scheme);
  return {
    forms: libraryForms(
      {
        has: (key) => full.has(key),
        hasMany: (keys) => full.hasMany(keys),
        build: (keys) => {
          const built = buildStatic(keys);
          return (some) => built.hasMany(some);
        },
      },
      hash,
    ),
    fill: (chunk) => {
      full = buildStatic(chunk.packed);
    },
    hash,
    bits: () => full.byteLength * 8,
    describe: () => String(full),
  };
}

/** The same of 64-bit integers, as its peer takes them. They are hashed like any other key. */
export function staticIntegers(): Subject {
  useKernel('wasm');
  let full = buildStatic([]);
  return {
    forms: [
      integerForm(
        (key) => full.has(key),
        (chunk) => {
          const built = buildStatic(chunk.integers);
          return ({ integers }) => built.hasMany(integers);
        },
      ),
    ],
    fill: (chunk) => {
      full = buildStatic(chunk.integers);
    },
    bits: () => full.byteLength * 8,
    describe: () => String(full),
  };
}

function buildStatic(keys: KeyBatch): StaticFilter {
  return StaticFilter.from(keys, { fingerprintBits: 8 });
}

/**
 * A byte for each key; eight check bits, the rate of the static filters here. What is asked for is
 * the value.
 */
export function bloomier(): Subject {
  useKernel('wasm');
  // Made in the first build of a size, which is a warm-up.
  let values = new Uint8Array();
  const make = (keys: KeyBatch, count: number) => {
    if (values.length !== count) values = Uint8Array.from({ length: count }, (_, i) => i);
    return BloomierFilter.fromColumns(keys, values, { valueBits: 8, checkBits: 8 });
  };
  let full = make([], 0);
  const hash = hasher(full.scheme);
  return {
    forms: libraryForms(
      {
        has: (key) => full.get(key) !== undefined,
        hasMany: (keys) => full.getMany(keys),
        build: (keys, count) => {
          const built = make(keys, count);
          return (some) => built.getMany(some);
        },
      },
      hash,
    ),
    fill: ({ packed, count }) => {
      full = make(packed, count);
      if (!full.getMany(packed).every((value, i) => value === values[i])) throw new Error('a wrong value');
    },
    hash,
    no: Number.NaN,
    bits: () => full.byteLength * 8,
    describe: () => String(full),
  };
}

/** `capacity` different keys, some of them often. */
export function spectral(capacity: number, method: SpectralMethod): Subject {
  useKernel('wasm');
  const make = () => SpectralBloomFilter.forCapacity({ capacity, falsePositiveRate: RATE, method });
  const full = make();
  const mayCountLow = method === 'recurring-minimum';
  return { ...counter(full, make()), maxCount: full.maximum, mayCountLow };
}

/** From its default size on: it does not know how many keys will come. */
export function scalable(): Subject {
  useKernel('wasm');
  const make = () => new ScalableBloomFilter({ falsePositiveRate: RATE });
  return membership(make(), make());
}

/** Three generations that hold all keys between them, full like all others here. */
export function rotating(capacity: number): Subject {
  useKernel('wasm');
  const make = () =>
    new RotatingBloomFilter({
      capacity: Math.ceil(capacity / 3),
      generations: 3,
      falsePositiveRate: RATE,
      rotateWhenFull: true,
    });
  return membership(make(), make());
}

const LEVELS = 3;

/** A third of the keys at each distance, and levels that together keep the rate. */
export function attenuated(capacity: number): Subject {
  useKernel('wasm');
  const make = () =>
    AttenuatedBloomFilter.forCapacity({
      levels: LEVELS,
      capacity: Math.ceil(capacity / LEVELS),
      falsePositiveRate: eachOfAtLeastOne(RATE, LEVELS),
    });
  const full = make();
  return {
    ...membership(full, make()),
    fill: ({ packed: { bytes, offsets }, count }) => {
      for (let level = 0; level < LEVELS; level++) {
        const start = Math.floor((level * count) / LEVELS);
        const end = Math.floor(((level + 1) * count) / LEVELS);
        full.addMany({ bytes, offsets: offsets.subarray(start, end + 1) }, level);
      }
    },
  };
}

/** A structure with the face of a Set. */
interface Membership {
  readonly scheme: HashScheme;
  readonly byteLength: number;
  add(key: Key): unknown;
  addMany(keys: KeyBatch): unknown;
  has(key: Key): boolean;
  hasMany(keys: KeyBatch): Uint8Array;
  clear(): void;
}

function membership(full: Membership, scratch: Membership): Subject {
  const hash = hasher(full.scheme);
  return {
    forms: libraryForms(
      {
        add: (key) => scratch.add(key),
        addMany: (keys) => scratch.addMany(keys),
        has: (key) => full.has(key),
        hasMany: (keys) => full.hasMany(keys),
      },
      hash,
    ),
    fill: (chunk) => full.addMany(chunk.packed),
    warmScratch: (chunk) => scratch.addMany(chunk.packed),
    reset: () => scratch.clear(),
    hash,
    bits: () => full.byteLength * 8,
    describe: () => String(full),
  };
}

/** A structure that says how often a key was added. */
interface Counter extends Omit<Membership, 'has' | 'hasMany'> {
  count(key: Key): number;
  countMany(keys: KeyBatch): Float64Array;
}

function counter(full: Counter, scratch: Counter): Subject {
  const hash = hasher(full.scheme);
  return {
    forms: libraryForms(
      {
        add: (key) => scratch.add(key),
        addMany: (keys) => scratch.addMany(keys),
        has: (key) => full.count(key),
        hasMany: (keys) => full.countMany(keys),
      },
      hash,
    ),
    fill: (chunk) => full.addMany(chunk.packed),
    warmScratch: (chunk) => scratch.addMany(chunk.packed),
    reset: () => scratch.clear(),
    hash,
    counts: (keys) => full.countMany(keys),
    bits: () => full.byteLength * 8,
    describe: () => String(full),
  };
}
