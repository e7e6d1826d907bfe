/**
 * Digests that were learnt from metadata, by cache key: a ring of 262,144 records, of which the
 * oldest is replaced. A record takes 33 bytes and an entry of a map, together about 20 MB when the
 * ring is full; it grows with its content.
 *
 * A record has the first 16 bytes of the digest. A forger would need a second body with the same
 * 16 bytes, which takes 2^128 attempts: it cannot choose the first one, because that comes from the
 * origin. A key is known by 53 bits of its SipHash under a secret of this process. So the chance
 * that a URL without a record is taken for one with a record is 3e-11 at most, and an origin cannot
 * find names that collide with those of another one.
 *
 * We refused to keep URLs: an installation with npm names some 300,000 of them, at 100 bytes each.
 */

import { hashKey, SecretKey } from 'bloomery';
import type { DigestAlgorithm, NamedDigest } from '../../policy/named-digest.ts';

const RECORDS = 1 << 18;
const DIGEST_BYTES = 16;

export class LearntDigests {
  readonly #secret: SecretKey;
  readonly #limit: number;
  /** The place of each key in the ring. */
  readonly #places = new Map<number, number>();
  #keys: Float64Array;
  #digests: Uint8Array;
  #isLong: Uint8Array;
  #next = 0;

  /** `secret` has 16 random bytes. */
  constructor(secret: Uint8Array, limit = RECORDS) {
    this.#secret = new SecretKey(secret);
    this.#limit = limit;
    const first = Math.min(limit, 1024);
    this.#keys = new Float64Array(first).fill(Number.NaN);
    this.#digests = new Uint8Array(first * DIGEST_BYTES);
    this.#isLong = new Uint8Array(first);
  }

  get size(): number {
    return this.#places.size;
  }

  /** The digest of the body under a key: its first 32 hexadecimal digits. */
  find(key: string): NamedDigest | null {
    const place = this.#places.get(this.#nameOf(key));
    if (place === undefined) return null;
    const bytes = this.#digests.subarray(place * DIGEST_BYTES, (place + 1) * DIGEST_BYTES);
    const algorithm: DigestAlgorithm = this.#isLong[place] === 1 ? 'sha512' : 'sha256';
    return { algorithm, hex: Buffer.from(bytes).toString('hex') };
  }

  add(key: string, { algorithm, hex }: NamedDigest): void {
    const name = this.#nameOf(key);
    let place = this.#places.get(name);
    if (place === undefined) {
      place = this.#next;
      if (place === this.#keys.length) this.#grow();
      this.#places.delete(this.#keys[place]!);
      this.#next = (place + 1) % this.#limit;
      this.#keys[place] = name;
      this.#places.set(name, place);
    }
    this.#digests.set(Buffer.from(hex.slice(0, 2 * DIGEST_BYTES), 'hex'), place * DIGEST_BYTES);
    this.#isLong[place] = Number(algorithm === 'sha512');
  }

  forget(key: string): void {
    const name = this.#nameOf(key);
    const place = this.#places.get(name);
    if (place === undefined) return;
    this.#places.delete(name);
    this.#keys[place] = Number.NaN;
  }

  #nameOf(key: string): number {
    const { high, low } = hashKey(key, { key: this.#secret });
    return (high & 0x1fffff) * 2 ** 32 + (low >>> 0);
  }

  #grow(): void {
    const length = Math.min(this.#limit, 2 * this.#keys.length);
    const keys = new Float64Array(length).fill(Number.NaN);
    keys.set(this.#keys);
    const digests = new Uint8Array(length * DIGEST_BYTES);
    digests.set(this.#digests);
    const isLong = new Uint8Array(length);
    isLong.set(this.#isLong);
    this.#keys = keys;
    this.#digests = digests;
    this.#isLong = isLong;
  }
}
