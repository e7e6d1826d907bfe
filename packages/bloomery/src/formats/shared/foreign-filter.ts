/**
 * What filters of all foreign formats have in common.
 *
 * An imported filter stays what it was: it keeps the hash of the program that made it, answers as that program
 * would, and is written back bit for bit. It is not a `BloomFilter` of this library and cannot become one, because
 * a filter holds bits and not keys: the other hash would have set other bits, and nobody can tell which.
 */

import type { ForeignFormat } from './format-error.ts';

export interface ForeignFilter<K> {
  readonly format: ForeignFormat;
  /** The hash and how indices come from it. Two filters with different ones can never be combined. */
  readonly hash: string;
  /** m: the number of bits that indices range over, or that the fingerprints take. */
  readonly bits: number;
  /** k: read from the file, never recomputed. */
  readonly hashes: number;
  /** The bytes that the bits take in memory. */
  readonly byteLength: number;
  /** Maybe (true) or certainly not (false), as the program that made the filter would answer. */
  has(key: K): boolean;
  /** The rate at which keys that were not added are answered with "maybe" now. */
  estimatedFalsePositiveRate(): number;
  /** The file, bit for bit. */
  encode(): Uint8Array<ArrayBuffer>;
  toString(): string;
}

/** A foreign filter that is an array of bits of which keys set some. */
export interface ForeignBloomFilter<K> extends ForeignFilter<K> {
  /** The number of bits that are 1. A pass over the array. */
  onesCount(): number;
  /** How many distinct keys were added, by the zeros; Infinity if there is none. */
  estimatedSize(): number;
}

/** A filter, or what a filter would be. */
export interface HashedFormat {
  readonly format: string;
  readonly hash: string;
}

/** The error for those who look for a conversion: says why there is none. Also for like formats of unlike hashes. */
export function cannotConvert(from: HashedFormat, to: HashedFormat): RangeError {
  return new RangeError(
    `Cannot convert a ${from.format} filter (${from.hash}) to ${to.format} (${to.hash}): a filter holds bits, not ` +
      'keys, and the other hash would have set other bits. Add the keys to a new filter.',
  );
}
