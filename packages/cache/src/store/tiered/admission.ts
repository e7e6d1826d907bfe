/**
 * Who may go to the disk: a key that is seen for the second time within a window. Most objects that pass a large cache are asked for once and never again
 * (Maggs and Sitaraman, "Algorithmic nuggets in content delivery", CCR 2015, who put such a filter before their disks); to write
 * them would wear the disk out for nothing and push out what is wanted.
 *
 * What it promises. A key that was seen among the last `capacity` distinct keys is admitted: no false negative. One that was not is refused, but
 * for false positives: at most at `falsePositiveRate`, whatever comes and however long. Such a one is written to disk needlessly, no more.
 *
 * How. The library's rotating Bloom filter in three generations, each for half of `capacity`; it turns when the newest is full. So at least
 * the last `capacity` distinct keys are remembered, and at most 1.5 times as many. Memory: 11.9 bits for each of the keys it may hold at 1 %, that is
 * 17.9 bits for each one of `capacity`: 2.2 MB for a million, allocated at once.
 *
 * The window is counted in keys, not in time: then memory and rate hold under any load. A window of hours would need to be sized for the
 * busiest hour, and would admit everything when that is exceeded. The price: a flood of distinct keys shortens the window. That means
 * fewer admissions, never wrong bytes.
 *
 * Keys are untrusted input. An attacker who knows the seed can make URLs that are false positives, and have them written at first sight: pass a
 * secret key against that.
 */

import { RotatingBloomFilter, type SecretKey } from 'bloomery';

export interface AdmissionOptions {
  /** The window: so many distinct keys are remembered, at least. */
  readonly capacity: number;
  /** At most so many of the keys never seen are admitted. Default 0.01. */
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

  /** Notes that a key was seen. True: it was seen before, so it may go to the disk. */
  admit(key: string): boolean {
    const admitted = !this.#seen.add(key);
    if (admitted) this.#admitted++;
    else this.#refused++;
    return admitted;
  }

  /** Whether it would be admitted now; nothing is noted. */
  wouldAdmit(key: string): boolean {
    return this.#seen.has(key);
  }

  get statistics(): { readonly admitted: number; readonly refused: number; readonly bytes: number } {
    return { admitted: this.#admitted, refused: this.#refused, bytes: this.#seen.byteLength };
  }

  /** The rate at which keys never seen would be admitted now. */
  estimatedFalsePositiveRate(): number {
    return this.#seen.estimatedFalsePositiveRate();
  }
}

const GENERATIONS = 3;
