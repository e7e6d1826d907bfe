/**
 * The digest that this node serves to Squids: built when it is asked for, from the keys of all
 * processes of the node, in slices of a millisecond (`sliced-work.ts`).
 *
 * Building on demand was chosen over Squid's own way, a digest that is rebuilt every hour. A Squid
 * fetches a digest at most every 300 s, so a kept digest would save little. A digest built on
 * demand is never out of date: the first Squid need not wait for the next full hour, the digest
 * holds exactly the stored responses, and its size follows the store. A digest is used again for 10
 * s, so clients that ask for it all the time cost one digest per 10 s.
 *
 * While the node reads its disk after a start, the digest would lack most objects, and the Squid
 * that got it would not ask again for 5 minutes. So the first digests wait for the end of that, for
 * 5 s at most: Squid waits longer than that for an answer.
 *
 * A response that becomes stale within the life of the digest is left out, as in Squid. The life is
 * the 10 s until `Expires`. A Squid uses the digest for 300 s more, and we refused to count those:
 * then a response with `max-age=300` would never be in a digest. A response in the digest costs a
 * Squid one round trip if it has become stale. A response outside it costs a fetch from the origin
 * each time.
 */

import type { Clock } from '@bloomery/transport';
import { SquidDigest } from 'bloomery/formats/squid';
import type { SlicedWork, Steps } from '../sliced-work.ts';
import { KEY_BYTES, type SquidKeys } from './squid-keys.ts';

/** A digest as it is served. */
export interface BuiltDigest {
  readonly bytes: Uint8Array;
  readonly objects: number;
  /** Milliseconds since 1970. */
  readonly builtAt: number;
  readonly expiresAt: number;
}

export interface OwnDigestOptions {
  readonly clock: Clock;
  readonly work: SlicedWork;
  /** The keys of this process. */
  readonly keys: SquidKeys;
  /** The keys of the other workers that are fresh at a time, one piece for each that answers. */
  readonly others: (time: number) => Promise<readonly Uint8Array[]>;
  /** Resolves when all stored responses are among the keys. */
  readonly complete: Promise<void>;
  readonly bitsPerEntry: number;
}

/** The life of a digest, after which another one is built. */
const LIFE_MS = 10_000;
/** The longest wait for the keys of the store. */
const COMPLETE_MS = 5000;
/**
 * A digest for fewer entries could have more than 65 % ones by chance, and Squid would refuse it.
 * With 5 bits per entry and 256 entries, 65 % is 7 standard deviations away.
 */
const LEAST_CAPACITY = 256;
/** Keys that are added between two chances to pause. */
const BATCH = 256;

export class OwnDigest {
  readonly #options: OwnDigestOptions;
  #built: Promise<BuiltDigest> | null = null;
  /** The time, by the monotonic clock, until which it is used again. */
  #usedUntil = 0;

  constructor(options: OwnDigestOptions) {
    this.#options = options;
  }

  /** The digest of this node. */
  current(): Promise<BuiltDigest> {
    const { clock } = this.#options;
    if (this.#built === null || clock.monotonic() >= this.#usedUntil) {
      this.#usedUntil = Number.POSITIVE_INFINITY;
      const built = this.#build();
      this.#built = built;
      built.then(
        () => {
          this.#usedUntil = clock.monotonic() + LIFE_MS;
        },
        () => {
          this.#built = null;
        },
      );
    }
    return this.#built;
  }

  /** The keys of this process that are fresh at a time, for another worker that builds a digest. */
  async ownKeys(time: number): Promise<Uint8Array> {
    const { clock, complete, keys } = this.#options;
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = clock.after(COMPLETE_MS, resolve);
    });
    await Promise.race([complete, late]);
    cancel();
    return this.#run(keys.freshAt(time));
  }

  async #build(): Promise<BuiltDigest> {
    const { clock, others, bitsPerEntry } = this.#options;
    const asked = clock.now() + LIFE_MS;
    const [own, foreign] = await Promise.all([this.ownKeys(asked), others(asked)]);
    const digest = await this.#run(digestOf([own, ...foreign], bitsPerEntry));
    const builtAt = clock.now();
    return { bytes: digest.encode(), objects: digest.count, builtAt, expiresAt: builtAt + LIFE_MS };
  }

  #run<T>(steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => void this.#options.work.run(steps, resolve, reject));
  }
}

/** A digest of keys, whose capacity is their number. */
function* digestOf(parts: readonly Uint8Array[], bitsPerEntry: number): Steps<SquidDigest> {
  const count = parts.reduce((sum, { length }) => sum + Math.floor(length / KEY_BYTES), 0);
  const digest = SquidDigest.create({ capacity: Math.max(LEAST_CAPACITY, count), bitsPerEntry });
  let added = 0;
  for (const part of parts) {
    for (let at = 0; at + KEY_BYTES <= part.length; at += KEY_BYTES) {
      digest.add(part.subarray(at, at + KEY_BYTES));
      if (++added % BATCH === 0) yield;
    }
  }
  return digest;
}
