/**
 * A set for one friend or one group: a Bloom filter whose hash is keyed by a secret that only they
 * have. It is the default way to share a list.
 *
 * What it promises. A reader without the secret learns the size of the filter and the number of its
 * ones, which is an estimate of the number of keys (`padTo` hides that). It cannot test a guess:
 * under an unknown key, the bits of a member and of a non-member look alike. What it does not
 * promise. A holder of the secret can test any guess, so a friend with a list of all addresses
 * learns the contacts (docs/guide/private.md has the figures). Members of a group can do so for
 * each other's filters. A friend who may learn only the common keys uses an intersection instead.
 *
 * The key is derived from the secret and the name of the sender. Without the name, two friends that
 * send filters of one size under one secret would let a reader of both count common ones, and
 * estimate their overlap without the secret.
 */

import { BloomFilter, SecretKey } from 'bloomery';
import { deriveKeyBytes } from './derived-key.ts';

export interface KeyedFilterOptions {
  /** 16 random bytes that the pair or the group shares. */
  readonly secret: Uint8Array;
  /**
   * The name of the sender, as the receivers know it. A group that compares filters has one name.
   */
  readonly from: string;
  /** Rate of false positives. Default 0.001. */
  readonly falsePositiveRate?: number;
  /**
   * Fills the filter with dummy keys up to this number, so that its ones do not tell the number of
   * keys. `paddedSize` chooses it. The dummies depend on the secret alone: a holder of the secret
   * can count them, and releases of a growing list differ only where the list does. Two padded
   * filters under one key have dummies in common.
   */
  readonly padTo?: number;
}

/**
 * The key of the filters of one sender under a secret. Receivers pass it to `BloomFilter.decode`.
 */
export function sharedKey(secret: Uint8Array, from: string): SecretKey {
  if (typeof from !== 'string') {
    throw new TypeError(`Cannot share a set: expected the name of the sender, got ${typeof from}`);
  }
  return new SecretKey(deriveKeyBytes(secret, `bloomery keyed filter 1 from ${from}`));
}

/** Makes the filter of a set for readers who hold `secret`. Equal sets give equal bytes. */
export function keyedFilter(keys: Iterable<string>, options: KeyedFilterOptions): BloomFilter {
  const { secret, from, falsePositiveRate = 0.001, padTo } = options;
  const distinct = new Set(keys);
  const capacity = padTo ?? Math.max(1, distinct.size);
  if (!Number.isSafeInteger(capacity) || capacity < distinct.size || capacity < 1) {
    throw new RangeError(
      `Cannot share a set: expected padTo to be a whole number of at least ${distinct.size} keys, got ${capacity}`,
    );
  }
  const filter = BloomFilter.forCapacity({ capacity, falsePositiveRate, key: sharedKey(secret, from) });
  filter.addMany(distinct);
  if (padTo !== undefined) {
    for (let i = distinct.size; i < padTo; i++) filter.add(`\0dummy ${i}`);
  }
  return filter;
}

/**
 * The number of keys to pad to: the next power of two, and at least 64. Sizes within a factor of
 * two look the same, for at most twice the bytes.
 */
export function paddedSize(count: number): number {
  if (!Number.isSafeInteger(count) || count < 0 || count > 2 ** 31) {
    throw new RangeError(`Cannot pad: expected a number of keys up to 2^31, got ${count}`);
  }
  return Math.max(64, 2 ** Math.ceil(Math.log2(Math.max(1, count))));
}
