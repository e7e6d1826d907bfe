/** Hashes of keys whose number is not known, in one growing array: 8 bytes for each key. */

import { type HashScheme, hashKeys, type Key } from 'bloomery';

const FIRST_KEYS = 1024;

export class HashGatherer {
  readonly #scheme: HashScheme;
  #words = new Int32Array(2 * FIRST_KEYS);
  count = 0;

  constructor(scheme: HashScheme) {
    this.#scheme = scheme;
  }

  push(keys: readonly Key[]): void {
    const { words, length } = hashKeys(keys, this.#scheme);
    const needed = 2 * (this.count + length);
    if (needed > this.#words.length) {
      const larger = new Int32Array(Math.max(needed, 2 * this.#words.length));
      larger.set(this.#words);
      this.#words = larger;
    }
    this.#words.set(words, 2 * this.count);
    this.count += length;
  }

  /** The hashes in parts of at most `most`, as words for `addMany`. */
  *parts(most: number): Generator<Int32Array> {
    for (let at = 0; at < this.count; at += most)
      yield this.#words.subarray(2 * at, 2 * Math.min(this.count, at + most));
  }
}
