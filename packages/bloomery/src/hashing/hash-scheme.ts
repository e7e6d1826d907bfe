/**
 * The hash of a filter, with its seed or key. Two filters can be combined, and a hash that was
 * computed for one can be looked up in the other, exactly when their schemes are the same. `id`
 * identifies a scheme in one string.
 */

import { forge64Words } from './forge64.ts';
import type { SecretKey } from './secret-key.ts';

/** The numbers of the hashes in frames: with a seed, with a secret key, and Parquet's. */
export const FORGE64 = 1;
export const SIPHASH24 = 2;
export const XXH64 = 3;

/**
 * The output of a hash: [low 32 bits, high 32 bits]. It is an array because a function cannot
 * return two numbers.
 */
export type HashOut = Int32Array;

export interface HashOptions {
  /**
   * A 64-bit seed, an integer from 0 to 2^64 - 1. Default 0. It is public, because frames contain
   * it.
   */
  readonly seed?: number | bigint;
  /** Hashes with SipHash-2-4 under a secret key instead, for keys that an adversary may choose. */
  readonly key?: SecretKey;
}

/** Hashes the first `length` bytes of little-endian `words`. */
export type HashWords = (words: Int32Array, length: number, out: HashOut) => void;

export class HashScheme {
  /** The seed, or for a keyed scheme the check value of the key. */
  readonly seed: bigint;
  /**
   * The hash and its seed or check value. Equal for two schemes exactly when they give the same
   * hashes.
   */
  readonly id: string;
  /** @internal The number of the hash in frames. */ readonly code: number;
  /** @internal */ readonly hashWords: HashWords;
  // A private name, so that logging or serialising a filter does not show the secret.
  readonly #secret: Int32Array | null;

  constructor(
    code: number,
    name: string,
    seed: bigint,
    hashWords: HashWords,
    secret: Int32Array | null = null,
  ) {
    if (new Uint8Array(Uint32Array.of(1).buffer)[0] === 0)
      throw new Error('bloomery needs a little-endian machine');
    this.seed = seed;
    this.code = code;
    this.id = `${name}/${seed.toString(16)}`;
    this.hashWords = hashWords;
    this.#secret = secret;
  }

  /** @internal The secret key as four little-endian words, or null if there is none. */
  get secret(): Int32Array | null {
    return this.#secret;
  }
}

/** The scheme that the options ask for. */
export function hashScheme({ seed = 0, key }: HashOptions = {}): HashScheme {
  if (key !== undefined) {
    if (seed !== 0) throw new TypeError('Give a seed or a key, not both');
    if (!(key?.scheme instanceof HashScheme))
      throw new TypeError('key must be a SecretKey: new SecretKey(bytes)');
    return key.scheme;
  }
  if (!(typeof seed === 'bigint' || Number.isSafeInteger(seed)) || seed < 0 || seed >= 2n ** 64n) {
    throw new RangeError(`seed must be an integer from 0 to 2^64 - 1, got ${seed}`);
  }
  const value = BigInt(seed);
  // The default scheme is a single object, so that comparing schemes is fast.
  return value === 0n ? (unseeded ??= forge64Scheme(0n)) : forge64Scheme(value);
}

let unseeded: HashScheme | undefined;

function forge64Scheme(seed: bigint): HashScheme {
  const [low, high] = halves(seed);
  return new HashScheme(FORGE64, 'forge64', seed, (words, length, out) =>
    forge64Words(words, length, low, high, out),
  );
}

/** A seed as two int32. */
export function halves(seed: bigint): readonly [low: number, high: number] {
  return [Number(BigInt.asIntN(32, seed)), Number(BigInt.asIntN(32, seed >> 32n))];
}

/**
 * Throws if a hash was made with another scheme. A lookup of it in this filter would silently
 * answer "no".
 */
export function checkSameScheme(ofHash: HashScheme, ofFilter: HashScheme): void {
  if (ofHash !== ofFilter && ofHash?.id !== ofFilter.id) {
    throw new RangeError(
      `The hash is by ${ofHash?.id}, the filter by ${ofFilter.id}: hash with filter.scheme`,
    );
  }
}
