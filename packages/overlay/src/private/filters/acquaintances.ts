/**
 * LOAF's question: does someone I know know this address? One keyed filter per friend, each under
 * the secret of that pair (Ceglowski, "Using Bloom Filters", 2004: LOAF sent them with every mail).
 *
 * An answer is a hint. Each filter has false positives, so with many friends an unknown address is
 * often "known" to one of them; `falseAlarmRate` says how often. The sender of a mail is easily
 * forged, and this says nothing about that.
 */

import type { BloomFilter } from 'bloomery';
import { SharingError } from '../sharing-error.ts';

/** A filter that says "maybe" more often tells nothing. */
const MOST_RATE = 0.5;

export interface Acquaintance {
  /** The name under which the filter was kept. */
  readonly name: string;
  /** The probability that the friend's filter says "maybe" to an address that it does not hold. */
  readonly falsePositiveRate: number;
}

export class Acquaintances {
  readonly #friends = new Map<string, { readonly filter: BloomFilter; readonly rate: number }>();

  /**
   * Keeps the filter of a friend, in the place of an earlier one. Throws a `SharingError` with the
   * code `overfull` if it says "maybe" to more than half of all addresses: it would let in nearly
   * every sender, whether by mistake or on purpose.
   */
  set(name: string, filter: BloomFilter): void {
    const rate = filter.estimatedFalsePositiveRate();
    if (rate > MOST_RATE) {
      throw new SharingError(
        'overfull',
        `Cannot keep a filter: expected a false positive rate of at most ${MOST_RATE}, got ${rate.toPrecision(3)} (${name})`,
      );
    }
    this.#friends.set(name, { filter, rate });
  }

  /** Forgets a friend. Returns whether there was one of that name. */
  delete(name: string): boolean {
    return this.#friends.delete(name);
  }

  get size(): number {
    return this.#friends.size;
  }

  /** The friends who may know the address. An empty list means that none of them does. */
  whoMayKnow(address: string): Acquaintance[] {
    const found: Acquaintance[] = [];
    for (const [name, { filter, rate }] of this.#friends) {
      if (filter.has(address)) found.push({ name, falsePositiveRate: rate });
    }
    return found;
  }

  /** The probability that an address that no friend knows is found with at least one. */
  get falseAlarmRate(): number {
    let none = 1;
    for (const { rate } of this.#friends.values()) none *= 1 - rate;
    return 1 - none;
  }
}
