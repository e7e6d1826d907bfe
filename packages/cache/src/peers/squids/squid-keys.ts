/**
 * The keys of stored responses as Squid hashes them, each with the time at which the response
 * becomes stale: the raw material of the digest that this node serves to Squids.
 *
 * Squid's key is the MD5 of the method and the URL, and all 128 bits of it are needed, because the
 * four bits of a digest are its four words modulo the size of the mask. We keep them (30 bytes per
 * object with the table) and refused two other ways: to read the URLs from the store for each
 * digest, which takes a read of the disk per object, and to keep the bits themselves, which cannot
 * be taken back when an object leaves and do not fit when the store has grown.
 *
 * Two keys with the same first 64 bits are one entry, as in `hash-ledger.ts`.
 */

import { squidKey } from 'bloomery/formats/squid';
import { HashLedger } from '../decisions/hash-ledger.ts';
import type { HashHalves } from '../decisions/owner-question.ts';
import { PagedIntegers } from '../decisions/paged-integers.ts';
import type { Steps } from '../sliced-work.ts';
import type { SummarySink } from '../summary-feed.ts';

/** Bytes of one key. */
export const KEY_BYTES = 16;

/** Keys that are handled between two chances to pause. */
const BATCH = 256;

export class SquidKeys implements SummarySink<string> {
  readonly #ledger = new HashLedger();
  /** The third and fourth word of each key, and the second at which its response is stale. */
  readonly #thirds = newNumbers();
  readonly #fourths = newNumbers();
  readonly #untils = newNumbers();

  get size(): number {
    return this.#ledger.size;
  }

  keep(url: string, until: number): void {
    const words = wordsOf(url);
    const entry = this.#ledger.add(halves(words));
    for (const numbers of [this.#thirds, this.#fourths, this.#untils]) numbers.cover(entry + 1);
    this.#thirds.set(entry, words.getUint32(8));
    this.#fourths.set(entry, words.getUint32(12));
    // The time is rounded down to a second. 32 bits last until the year 2106.
    this.#untils.set(entry, Math.min(2 ** 32 - 1, Math.floor(until / 1000)));
  }

  drop(url: string): void {
    const entry = this.#ledger.find(halves(wordsOf(url)));
    if (entry >= 0) this.#ledger.remove(entry);
  }

  /**
   * The keys of the responses that are fresh at a time, in milliseconds since 1970, one after the
   * other. Keys may come and go between two steps.
   */
  *freshAt(time: number): Steps<Uint8Array> {
    const bytes = new Uint8Array(KEY_BYTES * this.size);
    const view = new DataView(bytes.buffer);
    let at = 0;
    let seen = 0;
    for (const entry of this.#ledger.entries()) {
      if (++seen % BATCH === 0) yield;
      if (at === bytes.length) break;
      if (1000 * this.#untils.get(entry) <= time) continue;
      const { low, high } = this.#ledger.hashAt(entry);
      view.setUint32(at, low);
      view.setUint32(at + 4, high);
      view.setUint32(at + 8, this.#thirds.get(entry));
      view.setUint32(at + 12, this.#fourths.get(entry));
      at += KEY_BYTES;
    }
    return bytes.subarray(0, at);
  }
}

function newNumbers(): PagedIntegers {
  return new PagedIntegers((length) => new Uint32Array(length));
}

function wordsOf(url: string): DataView {
  return new DataView(squidKey(url).buffer);
}

function halves(words: DataView): HashHalves {
  return { low: words.getUint32(0), high: words.getUint32(4) };
}
