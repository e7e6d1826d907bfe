/**
 * The bits of a `BloomFilter` or a `BlockedBloomFilter`, with every operation that does not depend
 * on where the bits of a key lie. The filter chooses the places (a `Prober`), checks that two
 * filters are alike, and passes its calls on.
 *
 * It adds about 120 bytes to the bundle of one filter, because a class needs its public methods
 * even if they only pass calls on. Bundles without the WebAssembly kernel are no larger for it,
 * because they now leave out the last parts of that kernel. We refused a base class, which would
 * save those methods: filters do not share code by inheritance. `has` goes through the prober as
 * `hasHash` does; a loop of its own in each filter was not faster (0.95 to 1.0 of its time in
 * either kernel).
 */

import { checkSameScheme, type HashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import { hashInto, hashOut, type KeyHash } from '../../kernel/batches/hash-key.ts';
import { andInto, countOnes, countSharedOnes, isSubset, orInto } from '../../kernel/bits/bit-operations.ts';
import type { BitStore } from '../../kernel/bits/bit-store.ts';
import type { Key } from '../../keys/key.ts';
import { addBatch, addOne, hasBatch, hasKey, type Prober } from './batch-probing.ts';
import type { FillGauge } from './fill-gauge.ts';

export class BitArray {
  declare readonly store: BitStore;
  declare readonly gauge: FillGauge;
  readonly #scheme: HashScheme;
  readonly #prober: Prober;

  constructor(store: BitStore, scheme: HashScheme, prober: Prober, gauge: FillGauge) {
    this.store = store;
    this.gauge = gauge;
    this.#scheme = scheme;
    this.#prober = prober;
  }

  /** Adds a key. Returns true if a bit changed. */
  add(key: Key): boolean {
    hashInto(key, this.#scheme);
    return addOne(this.store, this.#prober, hashOut[0], hashOut[1], this.gauge);
  }

  /** True if all bits of a key are 1. */
  has(key: Key): boolean {
    return hasKey(this.store, this.#prober, key, this.#scheme);
  }

  /** `add` by the key's hash. */
  addHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.#scheme);
    return addOne(this.store, this.#prober, hash.low | 0, hash.high | 0, this.gauge);
  }

  /** `has` by the key's hash. */
  hasHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.#scheme);
    return this.#prober.has(this.store.words, hash.low | 0, hash.high | 0);
  }

  /** Adds many keys. Returns how many changed a bit. */
  addMany(keys: KeyBatch): number {
    return addBatch(this.store, this.#prober, keys, this.#scheme, this.gauge);
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    return hasBatch(this.store, this.#prober, keys, this.#scheme);
  }

  /** Sets all bits to 0. */
  clear(): void {
    this.store.words.fill(0);
    this.gauge.reset();
  }

  /** Sets every bit that is 1 in the other array. */
  merge(other: BitArray): void {
    this.gauge.beforeMerge(() => this.onesCount() + other.onesCount() - this.sharedOnesCount(other));
    orInto(this.store.words, other.store.words, this.store.shared);
    this.gauge.reset();
  }

  /** Clears every bit that is 0 in the other array. */
  intersect(other: BitArray): void {
    andInto(this.store.words, other.store.words);
  }

  /** Whether the other array has every one of this array. */
  isSubsetOf(other: BitArray): boolean {
    return isSubset(this.store.words, other.store.words);
  }

  /** The number of bits that are 1. */
  onesCount(): number {
    return countOnes(this.store.words);
  }

  /** The number of bits that are 1 in both. */
  sharedOnesCount(other: BitArray): number {
    return countSharedOnes(this.store.words, other.store.words);
  }
}
