/**
 * The peers of the other structures, through the calls that their own documentation shows, sized by
 * their own functions for the same keys.
 */

import { createCuckooFilter } from '@libp2p/utils';
import { populateBinaryFuse8 } from 'binary-fuse-filter';
import bloomFilters from 'bloom-filters';
import { type Chunk, eachString, integerForm, type Subject, scalarForm } from '../shared/subject.ts';

const RATE = 0.01;

/** The counting Bloom filter of bloom-filters 3.0.4: an array of two numbers for each counter. */
export function bloomFiltersCounting(capacity: number): Subject {
  const full = bloomFilters.CountingBloomFilter.create(capacity, RATE);
  const add = eachString((key) => full.add(key));
  return {
    forms: [
      scalarForm(
        (key) => full.add(key),
        (key) => full.has(key),
        (key) => full.remove(key),
      ),
    ],
    fill: add,
    undo: { add: eachString((key) => full.remove(key)), delete: add },
    describe: () => `${full.size} counters`,
  };
}

/** The cuckoo filter of @libp2p/utils, which is what a program that deletes would take there. */
export function libp2pCuckooDeleting(capacity: number): Subject {
  const full = createCuckooFilter(capacity, RATE);
  const remove = (key: string) => full.remove!(key);
  const add = eachString((key) => full.add(key));
  return {
    forms: [
      scalarForm(
        (key) => full.add(key),
        (key) => full.has(key),
        remove,
      ),
    ],
    fill: add,
    undo: { add: eachString(remove), delete: add },
    describe: () => `createCuckooFilter(capacity, ${RATE})`,
  };
}

/**
 * binary-fuse-filter 1.0.0. It knows 64-bit integers only. Who has strings hashes them first, and
 * that is not in its times: the integers are made before the clock starts.
 */
export function binaryFuse(): Subject {
  let full = populateBinaryFuse8([])[0];
  const make = ({ integers }: Chunk) => {
    const [filter, error] = populateBinaryFuse8(integers);
    if (error !== null) throw error;
    return filter;
  };
  return {
    forms: [
      integerForm(
        (key) => full.contains(key),
        (chunk) => {
          const built = make(chunk);
          return ({ integers }) => integers.filter((key) => built.contains(key)).length;
        },
      ),
    ],
    fill: (chunk) => {
      full = make(chunk);
    },
    // Its fingerprints are an ordinary array, in which V8 takes eight bytes for each: the heap
    // grows by as much.
    bits: () => full.Fingerprints.length * 64,
    describe: () => `${full.Fingerprints.length} fingerprints of 8 bits`,
  };
}

/**
 * The xor filter of bloom-filters 3.0.4. A lookup takes a tenth of a millisecond, ten thousand keys
 * a second to build.
 */
export function bloomFiltersXor(): Subject {
  const make = ({ strings }: Chunk) => bloomFilters.XorFilter.create(strings, 8);
  let full = new bloomFilters.XorFilter(1, 8);
  const scalar = scalarForm(undefined, (key) => full.has(key));
  return {
    forms: [
      {
        ...scalar,
        build: (chunk) => {
          const built = make(chunk);
          return ({ strings }) => strings.filter((key) => built.has(key)).length;
        },
      },
    ],
    fill: (chunk) => {
      full = make(chunk);
    },
    describe: () => `${full._filter.length} fingerprints of 8 bits`,
  };
}

/**
 * The Count-Min sketch of bloom-filters 3.0.4. What it calls accuracy is the probability of
 * failing, whatever its name and its default (0.999, which makes a single row) say; it is given the
 * one the library is given.
 */
export function bloomFiltersCountMin(epsilon: number, delta: number): Subject {
  const make = () => bloomFilters.CountMinSketch.create(epsilon, delta);
  const full = make();
  let scratch = make();
  return {
    forms: [
      scalarForm(
        (key) => scratch.update(key),
        (key) => full.count(key),
      ),
    ],
    fill: eachString((key) => full.update(key)),
    reset: () => {
      scratch = make();
    },
    counts: (keys) => keys.map((key) => full.count(key)),
    // Arrays of small integers: eight bytes each.
    bits: () => full.rows * full.columns * 64,
    describe: () => `${full.rows} rows of ${full.columns}`,
  };
}

/**
 * The built-in Map of exact counts: what a program would otherwise use. See `builtInSet` for how V8
 * flatters it.
 */
export function builtInMap(): Subject {
  const full = new Map<string, number>();
  const scratch = new Map<string, number>();
  const count = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
  return {
    forms: [
      scalarForm(
        (key) => count(scratch, key),
        (key) => full.get(key) ?? 0,
      ),
    ],
    fill: eachString((key) => count(full, key)),
    reset: () => scratch.clear(),
    counts: (keys) => keys.map((key) => full.get(key) ?? 0),
    describe: () => `${full.size} strings`,
  };
}
