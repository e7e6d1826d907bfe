/**
 * The hash of a filter, with its seed or key. Two filters can be combined, and a hash that was
 * computed for one can be looked up in the other, exactly when their schemes are the same. `id`
 * identifies a scheme in one string.
 */

import { forge64Words } from './forge64.ts';
import type { SecretKey } from './secret-key.ts';
import { UNCLONEABLE } from './uncloneable.ts';

/** The numbers of the hashes in frames: two with a seed, and one with a secret key. */
export const FORGE64 = 1;
export const SIPHASH24 = 2;
export const XXH64 = 3;

/**
 * The output of a hash: [low 32 bits, high 32 bits]. It is an array because a function cannot
 * return two numbers.
 */
export type HashOut = Int32Array;

/**
 * A seed or a key: `hashScheme` refuses both. The type allows them, because options that may hold
 * either are passed on everywhere: `new BloomFilter({ ...filter.share(), key })` is correct, and a
 * union would refuse it.
 */
export interface HashOptions {
  /**
   * A 64-bit seed, an integer from 0 to 2^64 - 1. Default 0. It is public, because frames contain
   * it.
   */
  readonly seed?: number | bigint;
  /** Hashes with SipHash-2-4 under a secret key instead, for keys that an adversary may choose. */
  readonly key?: SecretKey;
  /**
   * The hash: 'forge64' (default), or 'xxh64', which others have published and reviewed. A bundle
   * holds XXH64 only if the program imports 'bloomery/xxh64'. A whole `scheme.id` is allowed as
   * well, and detects a wrong seed and a wrong or missing key.
   */
  readonly hash?: string;
}

/** Hashes the first `length` bytes of little-endian `words` under a seed, given by its halves. */
type HashWords = (words: Int32Array, length: number, seedLow: number, seedHigh: number, out: HashOut) => void;

export class HashScheme {
  // `declare` keeps the names out of the bundle, where each counts.
  /** @internal The first property, for the message of `structuredClone`. */
  declare readonly clone: symbol;
  /** The seed, or for a keyed scheme the check value of the key. */
  declare readonly seed: bigint;
  /**
   * The hash and its seed or check value. Equal for two schemes exactly when they give the same
   * hashes.
   */
  declare readonly id: string;
  /** @internal The number of the hash in frames. */ declare readonly code: number;
  /** @internal */ declare readonly hashWords: HashWords;
  /** @internal The lower half of the seed, as an int32. */ declare readonly seedLow: number;
  /** @internal The upper half of the seed, as an int32. */ declare readonly seedHigh: number;
  // A private name, so that logging or serialising a filter does not show the secret.
  readonly #secret: Int32Array | null;

  constructor(
    code: number,
    name: string,
    seed: bigint,
    hashWords: HashWords,
    secret: Int32Array | null = null,
  ) {
    if (halves(1n)[0] === 0) throw new Error('Cannot hash: expected a little-endian machine');
    this.clone = UNCLONEABLE;
    [this.seedLow, this.seedHigh] = halves(seed);
    this.seed = seed;
    this.code = code;
    this.id = `${name}/${seed.toString(16)}`;
    this.hashWords = hashWords;
    this.#secret = secret;
  }

  /** The id, so that a structure as JSON names its hash and does not fail with a bigint. */
  toJSON(): string {
    return this.id;
  }

  /** @internal The secret key as four little-endian words, or null if there is none. */
  get secret(): Int32Array | null {
    return this.#secret;
  }
}

/** The scheme that the options ask for. */
export function hashScheme({ seed = 0, key, hash }: HashOptions = {}): HashScheme {
  let scheme: HashScheme | undefined = key?.scheme;
  if (key !== undefined) {
    if (seed !== 0) throw new TypeError('Cannot hash: expected a seed or a key, got both');
    if (!(scheme instanceof HashScheme)) {
      throw new TypeError(`Cannot hash: expected a key by new SecretKey(bytes), got ${typeof key}`);
    }
  } else {
    if (!(typeof seed === 'bigint' || Number.isSafeInteger(seed)) || seed < 0 || seed >= 2n ** 64n) {
      throw new RangeError(`Cannot hash: expected a seed, an integer from 0 to 2^64 - 1, got ${seed}`);
    }
    scheme = SEEDED_SCHEMES[hash && `${hash}`.startsWith('xxh64') ? XXH64 : FORGE64]?.(BigInt(seed));
  }
  // `hash` is the name of the scheme or its whole id.
  if (scheme && (hash === undefined || `${scheme.id}/`.startsWith(`${hash}/`))) return scheme;
  throw new RangeError(`Cannot hash: expected ${scheme ? scheme.id : IMPORT_XXH64}, got hash ${hash}`);
}

/**
 * The schemes of the hashes with a seed that this program holds, by their numbers in frames.
 * xxh64-scheme.ts adds its own when it is loaded, so that programs without XXH64 do not carry its
 * code.
 */
export const SEEDED_SCHEMES: Record<number, ((seed: bigint) => HashScheme) | undefined> = {
  // The default scheme is a single object, because `hashKey` without options asks for it each time.
  [FORGE64]: (seed) => (seed ? forge64Scheme(seed) : (unseeded ??= forge64Scheme(seed))),
};

let unseeded: HashScheme | undefined;

function forge64Scheme(seed: bigint): HashScheme {
  return new HashScheme(FORGE64, 'forge64', seed, forge64Words);
}

/** The import that makes XXH64 available, for messages. */
export const IMPORT_XXH64 = "import 'bloomery/xxh64'";

/** A seed as two int32. The lower half comes first, because the machine is little-endian. */
export function halves(seed: bigint): Int32Array {
  return new Int32Array(BigInt64Array.of(seed).buffer);
}

/**
 * Throws if a hash was made with another scheme. A lookup of it in this filter would silently
 * answer "no".
 */
export function checkSameScheme(ofHash: HashScheme, ofFilter: HashScheme): void {
  if (ofHash !== ofFilter && ofHash?.id !== ofFilter.id) {
    throw new RangeError(
      `Cannot use a hash: expected one by filter.scheme (${ofFilter.id}), got ${ofHash?.id}`,
    );
  }
}
