/**
 * Decides which lines of a stream pass, and remembers them. Three rules:
 *
 * - once: a line passes if it is certainly new. A filter is never wrong about a line that it has,
 *   so a line never passes twice; a new line is dropped with the rate of the filter.
 * - within a window: the same, with a filter that forgets (`RotatingBloomFilter`). A line that
 *   comes again is not renewed, because a line that comes all the time would never pass again. It
 *   passes again after the window, at the latest after 1.25 times the window (5 generations).
 * - at the Nth sight: a counting filter counts up to N, and a line passes when its count reaches N,
 *   as with the counters of 4 bits in Ceglowski's article. A count is never too low, so a line
 *   passes at its Nth sight at the latest, and earlier with the rate of the filter.
 *
 * The class has no clock and no files. `taken` are the hashes of the lines that a file must
 * remember as well.
 */

import { CountingBloomFilter, type HashScheme, hashKeys, type KeyBatch, type KeyHash } from 'bloomery';
import type { OwnFilter } from '../files/structures.ts';

/** The structures that `uniq` can remember lines in. */
export interface RememberingFilter {
  readonly scheme: HashScheme;
  hasHash(hash: KeyHash): boolean;
  addHash(hash: KeyHash): boolean;
  addMany(keys: KeyBatch): number;
}

/** Whether keys can be added to a filter one by one. */
export function isRemembering(filter: OwnFilter): filter is OwnFilter & RememberingFilter {
  return 'addHash' in filter && 'hasHash' in filter && 'addMany' in filter;
}

export interface Sieved {
  /** One byte per line: 1 if it passes. */
  readonly passes: Uint8Array;
  /** The hashes to remember, two words each. */
  readonly taken: Int32Array;
}

/** An exact set of lines that corrects the "maybe" of a filter. */
export interface ExactSet {
  /** Adds the line of a record. Returns true if it was not there before. */
  add(record: number, hash: KeyHash): boolean;
}

export class LineSieve {
  readonly #filter: RememberingFilter;
  readonly #at: number;

  /** `at` is the sight at which a line passes; above 1 it needs a counting filter. */
  constructor(filter: RememberingFilter, at = 1) {
    this.#filter = filter;
    this.#at = at;
  }

  /** Decides about a batch of lines. */
  sieve(keys: KeyBatch, exact?: ExactSet): Sieved {
    const { scheme } = this.#filter;
    const { words, length } = hashKeys(keys, scheme);
    const passes = new Uint8Array(length);
    const taken = new Int32Array(2 * length);
    let used = 0;
    for (let i = 0; i < length; i++) {
      const [low, high] = [words[2 * i], words[2 * i + 1]];
      const hash: KeyHash = { scheme, low: low >>> 0, high: high >>> 0 };
      const isNew =
        exact === undefined ? this.#take(hash) : exact.add(i, hash) ? this.#remember(hash) : undefined;
      if (isNew === undefined) continue;
      taken[used++] = low;
      taken[used++] = high;
      if (isNew) passes[i] = 1;
    }
    return { passes, taken: taken.subarray(0, used) };
  }

  /** True if the line passes, false if its sight only counts, undefined if nothing changes. */
  #take(hash: KeyHash): boolean | undefined {
    const filter = this.#filter;
    if (this.#at > 1 && filter instanceof CountingBloomFilter) {
      if (filter.countHash(hash) >= this.#at) return undefined;
      filter.addHash(hash);
      return filter.countHash(hash) >= this.#at;
    }
    // `addHash` of a filter that forgets would renew a line that it has.
    if (filter.hasHash(hash)) return undefined;
    return this.#remember(hash);
  }

  #remember(hash: KeyHash): true {
    this.#filter.addHash(hash);
    return true;
  }
}
