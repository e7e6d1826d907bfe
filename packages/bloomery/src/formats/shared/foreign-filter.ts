/**
 * The common interface of filters of all foreign formats.
 *
 * An imported filter keeps its format: it uses the hash of the program that made it, answers as
 * that program would, and is written back bit for bit. It is not a `BloomFilter` of this library
 * and cannot become one, because a filter holds bits and not keys: the other hash would have set
 * other bits, and they cannot be derived from these.
 */

import type { ForeignFormat } from './foreign-formats.ts';

export interface ForeignFilter<K> {
  readonly format: ForeignFormat;
  /**
   * The hash and how indices are derived from it. Two filters with different values can never be
   * combined.
   */
  readonly hash: string;
  /** m, the number of bits that indices range over, or that the fingerprints take. */
  readonly bits: number;
  /** k, read from the file and never recomputed. */
  readonly hashes: number;
  /** The bytes that the bits take in memory. */
  readonly byteLength: number;
  /**
   * True if the key may have been added, false if it certainly was not: the answer of the program
   * that made the filter.
   */
  has(key: K): boolean;
  /** Estimates the current false positive rate. */
  estimatedFalsePositiveRate(): number;
  /** The bytes of the file, bit for bit. */
  encode(): Uint8Array<ArrayBuffer>;
  toString(): string;
}

/** A foreign filter that is an array of bits, some of which each key sets. */
export interface ForeignBloomFilter<K> extends ForeignFilter<K> {
  /** The number of bits that are 1. Reads the whole array. */
  onesCount(): number;
  /**
   * Estimates how many distinct keys were added, from the number of zeros. Infinity if no zero is
   * left.
   */
  estimatedSize(): number;
}

/** A filter, or the format and hash of a possible one. */
export interface HashedFormat {
  readonly format: string;
  readonly hash: string;
}

/**
 * The error for callers that look for a conversion. It says why there is none, also between equal
 * formats with different hashes.
 */
export function cannotConvert(from: HashedFormat, to: HashedFormat): RangeError {
  return new RangeError(
    `Cannot convert a ${from.format} filter (${from.hash}) to ${to.format} (${to.hash}): a filter holds bits, not ` +
      'keys, and the other hash would have set other bits (add the keys to a new filter)',
  );
}
