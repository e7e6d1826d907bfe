/**
 * The peers, through the calls that their own documentation shows, sized by their own functions for
 * the same number of keys and the same rate.
 */

import { createBloomFilter, createCuckooFilter } from '@libp2p/utils';
import bloomFilters from 'bloom-filters';
import { BloomFilter } from 'bloomfilter';
import { eachString, type Subject, scalarForm } from '../shared/subject.ts';

const RATE = 0.01;

/** bloomfilter 1.1.0: the fastest that could be installed, and the reference of every ratio. */
export function bloomfilter(capacity: number): Subject {
  const make = () => BloomFilter.withTargetError(capacity, RATE);
  const full = make();
  let scratch = make();
  return {
    forms: [
      scalarForm(
        (key) => scratch.add(key),
        (key) => full.test(key),
      ),
    ],
    fill: eachString((key) => full.add(key)),
    reset: () => {
      scratch = make();
    },
    bits: () => full.buckets.byteLength * 8,
    describe: () => `${full.m} bits, ${full.k} hashes`,
  };
}

/** bloom-filters 3.0.4: the most downloaded. */
export function bloomFiltersPeer(capacity: number): Subject {
  const make = () => bloomFilters.BloomFilter.create(capacity, RATE);
  const full = make();
  let scratch = make();
  return {
    forms: [
      scalarForm(
        (key) => scratch.add(key),
        (key) => full.has(key),
      ),
    ],
    fill: eachString((key) => full.add(key)),
    reset: () => {
      scratch = make();
    },
    bits: () => Math.ceil(full.size / 8) * 8,
    describe: () => `${full.size} bits`,
  };
}

/** The Bloom filter of @libp2p/utils. Its seeds are random, so its rate differs from run to run. */
export function libp2pBloom(capacity: number): Subject {
  const make = () => createBloomFilter(capacity, RATE);
  const full = make();
  let scratch = make();
  return {
    forms: [
      scalarForm(
        (key) => scratch.add(key),
        (key) => full.has(key),
      ),
    ],
    fill: eachString((key) => full.add(key)),
    reset: () => {
      scratch = make();
    },
    // The interface that createBloomFilter is declared to return hides its buffer.
    bits: () => (full as unknown as { buffer: Uint8Array }).buffer.byteLength * 8,
    describe: () => 'createBloomFilter(capacity, 0.01)',
  };
}

/**
 * The cuckoo filter of @libp2p/utils: objects, not a bit array, so its memory is what the heap grew
 * by.
 */
export function libp2pCuckoo(capacity: number): Subject {
  const make = () => createCuckooFilter(capacity, RATE);
  const full = make();
  let scratch = make();
  return {
    forms: [
      scalarForm(
        (key) => scratch.add(key),
        (key) => full.has(key),
      ),
    ],
    fill: eachString((key) => full.add(key)),
    reset: () => {
      scratch = make();
    },
    describe: () => 'createCuckooFilter(capacity, 0.01)',
  };
}

/**
 * The built-in Set: exact, and what a program would otherwise use. It keeps the strings alive, so
 * they count as its memory. V8 stores a string's hash in the string: from the second time on that
 * the same string object is asked, it is not hashed at all, which flatters Set here.
 */
export function builtInSet(): Subject {
  const full = new Set<string>();
  let scratch = new Set<string>();
  return {
    forms: [
      scalarForm(
        (key) => scratch.add(key),
        (key) => full.has(key),
      ),
    ],
    fill: eachString((key) => full.add(key)),
    reset: () => {
      scratch = new Set();
    },
    describe: () => `${full.size} strings`,
  };
}

/**
 * No filter at all: reads every character. What is left of a scalar row after this is the filter's
 * own work.
 */
export function readingTheKey(): Subject {
  return {
    forms: [scalarForm(undefined, sumsToOdd)],
    fill: () => {},
    bits: () => 0,
    describe: () => 'a sum over charCodeAt',
  };
}

function sumsToOdd(key: string): boolean {
  let sum = 0;
  for (let i = 0; i < key.length; i++) sum += key.charCodeAt(i);
  return (sum & 1) === 1;
}
