/**
 * Responses that may go to the disk: those whose key is seen for the second time within a window.
 * Most objects in a large cache are requested only once (Maggs and Sitaraman, "Algorithmic nuggets
 * in content delivery", CCR 2015, who put such a filter in front of their disks). Writing them
 * would wear out the disk for nothing and evict objects that are wanted.
 *
 * What it promises. A key that was seen among the last `capacity` distinct keys is admitted: there
 * are no false negatives. A key that was not seen is refused, except for false positives at a rate
 * of at most `falsePositiveRate`, for any input and any length of time. A false positive only
 * causes a needless write to disk.
 *
 * How. It is the library's rotating Bloom filter with three generations, each for half of
 * `capacity`; it rotates when the newest is full. At least the last `capacity` distinct keys are
 * therefore remembered, and at most 1.5 times as many. Memory: 11.9 bits for each of the keys that
 * it may hold at 1 %, which is 17.9 bits for each key of `capacity`: 2.2 MB for a million,
 * allocated at once.
 *
 * The window is counted in keys, not in time, so memory and rate hold under any load. A window of
 * hours would have to be sized for the busiest hour, and would admit everything when that is
 * exceeded. The price is that a flood of distinct keys shortens the window. That means fewer
 * admissions, never wrong bytes.
 *
 * Keys are untrusted input. An attacker who knows the seed can construct URLs that are false
 * positives, and have them written when first seen. Pass a secret key to prevent that.
 */

import { RotatingBloomFilter, type SecretKey } from 'bloomery';

export interface AdmissionOptions {
  /** The window: the minimum number of distinct keys that are remembered. */
  readonly capacity: number;
  /** Maximum fraction of unseen keys that are admitted. Default 0.01. */
  readonly falsePositiveRate?: number;
  readonly key?: SecretKey;
}

export class Admission {
  readonly capacity: number;
  readonly #seen: RotatingBloomFilter;
  #admitted = 0;
  #refused = 0;

  constructor({ capacity, falsePositiveRate = 0.01, key }: AdmissionOptions) {
    this.capacity = capacity;
    this.#seen = new RotatingBloomFilter({
      capacity: Math.ceil(capacity / (GENERATIONS - 1)),
      falsePositiveRate,
      generations: GENERATIONS,
      rotateWhenFull: true,
      ...(key === undefined ? {} : { key }),
    });
  }

  /**
   * Records that a key was seen. Returns true if it was seen before, so that it may go to the disk.
   */
  admit(key: string): boolean {
    const admitted = !this.#seen.add(key);
    if (admitted) this.#admitted++;
    else this.#refused++;
    return admitted;
  }

  /** Whether the key would be admitted now; nothing is recorded. */
  wouldAdmit(key: string): boolean {
    return this.#seen.has(key);
  }

  get statistics(): { readonly admitted: number; readonly refused: number; readonly bytes: number } {
    return { admitted: this.#admitted, refused: this.#refused, bytes: this.#seen.byteLength };
  }

  /** The rate at which unseen keys would be admitted now. */
  estimatedFalsePositiveRate(): number {
    return this.#seen.estimatedFalsePositiveRate();
  }
}

const GENERATIONS = 3;
