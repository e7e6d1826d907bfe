/**
 * The contents of one simulated node as other systems tell them to their neighbours, in three
 * forms. All neighbours hear the same, so there is one of it per node, and its bytes count once for
 * each neighbour.
 *
 * - `UrlList`: changed URLs, each with a sign, after a header of 32 bytes. The keys of a simulation
 *   are short (28 bytes), so a URL counts as 102 bytes, the mean of docs/notes/summary-bytes.md.
 * - `ChangedBits`: Summary Cache (Fan, Cao, Almeida, Broder, 2000). A counting filter, by default
 *   with 16 bits per entry and four hash functions. An update has a header of 32 bytes and 4 bytes
 *   for each bit that changed, as in docs/notes/summary-bytes.md.
 * - `WholeDigest`: Squid's digest, sent whole: 5 bits per entry, four hash functions, a head of 128
 *   bytes. The bits are set by our hash and not by MD5, which gives the same rate.
 */

import { BloomFilter, CountingBloomFilter, hashKey, type KeyHash } from 'bloomery';
import { keyOfObject } from '../trace.ts';

export interface PublishedContents {
  added(object: number): void;
  removed(object: number): void;
  /** Takes the present contents for an update. */
  publish(): PublishedUpdate;
  /** Whether the neighbours believe that the node holds the object. */
  mayHold(object: number, hash: KeyHash): boolean;
}

export interface PublishedUpdate {
  readonly bytes: number;
  /** Called when the neighbours have heard it. */
  readonly heard: () => void;
}

const HEADER_BYTES = 32;
const URL_BYTES = 102;
const SIGN_BYTES = 1;
const BIT_BYTES = 4;
const SQUID_HEAD_BYTES = 128;
const SQUID_HASHES = 4;

export class UrlList implements PublishedContents {
  readonly #believed = new Set<number>();
  /** Objects that changed since the last update: true if they are held now. */
  #changes = new Map<number, boolean>();

  added(object: number): void {
    this.#changes.set(object, true);
  }

  removed(object: number): void {
    this.#changes.set(object, false);
  }

  publish(): PublishedUpdate {
    const changes = this.#changes;
    this.#changes = new Map();
    return {
      bytes: HEADER_BYTES + changes.size * (SIGN_BYTES + URL_BYTES),
      heard: () => {
        for (const [object, isHeld] of changes)
          if (isHeld) this.#believed.add(object);
          else this.#believed.delete(object);
      },
    };
  }

  mayHold(object: number): boolean {
    return this.#believed.has(object);
  }
}

export class ChangedBits implements PublishedContents {
  readonly #filter: CountingBloomFilter;
  #believed: BloomFilter | null = null;

  constructor(entries: number, bitsPerEntry: number, hashes: number) {
    this.#filter = new CountingBloomFilter({
      counters: Math.ceil(entries * bitsPerEntry),
      hashes,
      trackChanges: true,
    });
  }

  added(object: number): void {
    this.#filter.addHash(hashOf(object));
  }

  removed(object: number): void {
    this.#filter.deleteHash(hashOf(object));
  }

  publish(): PublishedUpdate {
    const bits = this.#filter.takeChanges().length;
    const next = this.#filter.snapshot();
    return {
      bytes: HEADER_BYTES + BIT_BYTES * bits,
      heard: () => void (this.#believed = next),
    };
  }

  mayHold(_object: number, hash: KeyHash): boolean {
    return this.#believed?.hasHash(hash) ?? false;
  }
}

export class WholeDigest implements PublishedContents {
  readonly #bitsPerEntry: number;
  readonly #held = new Set<number>();
  #believed: BloomFilter | null = null;

  constructor(bitsPerEntry: number) {
    this.#bitsPerEntry = bitsPerEntry;
  }

  added(object: number): void {
    this.#held.add(object);
  }

  removed(object: number): void {
    this.#held.delete(object);
  }

  publish(): PublishedUpdate {
    const bits = Math.max(8, Math.ceil(this.#held.size * this.#bitsPerEntry));
    const next = new BloomFilter({ bits, hashes: SQUID_HASHES });
    for (const object of this.#held) next.addHash(hashOf(object));
    return { bytes: SQUID_HEAD_BYTES + Math.ceil(bits / 8), heard: () => void (this.#believed = next) };
  }

  mayHold(_object: number, hash: KeyHash): boolean {
    return this.#believed?.hasHash(hash) ?? false;
  }
}

export function hashOf(object: number): KeyHash {
  return hashKey(keyOfObject(object));
}
