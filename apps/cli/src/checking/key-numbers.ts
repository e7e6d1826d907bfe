/**
 * The number that a structure knows for a key, besides whether it may have it: a count, a value, a
 * distance, an age. `count` and `get` print it, and `info` says which of the two to ask.
 */

import {
  AttenuatedBloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  HeavyHitters,
  type KeyBatch,
  RangeSketch,
  RotatingBloomFilter,
  SpectralBloomFilter,
} from 'bloomery';
import type { OwnFilter } from '../files/structures.ts';
import { eachKey } from '../keys/each-key.ts';
import { rangesOf } from '../keys/integer-keys.ts';

export interface KeyNumbers {
  /** The command that asks for it. */
  readonly command: 'count' | 'get';
  /** The name of the number in JSON. */
  readonly name: 'count' | 'value' | 'distance' | 'age';
  /** The number in words, for help and errors. */
  readonly words: string;
  /** One number per key; below 0 or NaN if the key is certainly not in. */
  many(keys: KeyBatch): ArrayLike<number>;
  /** The least that the truth can be for a count, with the confidence of the sketch. */
  atLeast?(count: number): number;
}

/** The numbers of a structure, or undefined if it has none. */
export function keyNumbers(filter: OwnFilter): KeyNumbers | undefined {
  if (filter instanceof CountingBloomFilter || filter instanceof SpectralBloomFilter) {
    return { ...COUNT, many: (keys) => filter.countMany(keys) };
  }
  if (filter instanceof CountMinSketch) {
    // Cormode and Muthukrishnan 2005: a count is too high by at most ε·total, except for a share δ.
    const atLeast = (count: number) => Math.max(0, Math.ceil(count - filter.epsilon * filter.total));
    return { ...COUNT, many: (keys) => filter.countMany(keys), atLeast };
  }
  if (filter instanceof HeavyHitters) {
    return { ...COUNT, many: (keys) => Array.from(eachKey(keys), (key) => filter.count(key)) };
  }
  if (filter instanceof RangeSketch) {
    const atLeast = (count: number) => Math.max(0, Math.ceil(count - filter.epsilon * filter.total));
    const many = (keys: KeyBatch) =>
      rangesOf(keys, filter.largestKey).map(({ from, to }) => filter.count(from, to));
    return { ...COUNT, many, atLeast };
  }
  if (filter instanceof BloomierFilter) {
    return { ...GET, name: 'value', words: 'the value of a key', many: (keys) => filter.getMany(keys) };
  }
  if (filter instanceof AttenuatedBloomFilter) {
    const words = 'the nearest level that may have a key, from 0';
    return { ...GET, name: 'distance', words, many: (keys) => filter.distanceMany(keys) };
  }
  if (filter instanceof RotatingBloomFilter) {
    const words = 'the newest generation that may have a key, from 0';
    return { ...GET, name: 'age', words, many: (keys) => filter.ageMany(keys) };
  }
  return undefined;
}

const COUNT = { command: 'count', name: 'count', words: 'how often a key was added, at most' } as const;
const GET = { command: 'get' } as const;
