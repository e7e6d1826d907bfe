/**
 * A link of RedisBloom's chain: its size as the server computes it (deps/bloom/bloom.c), and its
 * bits. The parameters of a link that was read are never recomputed.
 */

import { checkInteger, MAX_BITS } from '../math/checks.ts';
import { murmur2, murmur64a } from './hashes/murmur2.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import { keyWords, loadKey } from './shared/foreign-key.ts';
import { Modulus } from './shared/modulus.ts';
import { preciseLog } from './shared/precise-log.ts';

/** Options of a chain. Current servers write NOROUND and FORCE64, and NO_SCALING on request. */
export const NOROUND = 1;
export const ENTS_IS_BITS = 2;
export const FORCE64 = 4;
export const NO_SCALING = 8;

/** A link of the chain, as BF.DEBUG shows it. */
export interface RedisBloomLink {
  readonly bits: number;
  readonly hashes: number;
  /** The number of keys that it is made for, and the number that it has. */
  readonly entries: number;
  readonly size: number;
  readonly error: number;
}

/** A link with its bits. */
export interface Link extends RedisBloomLink {
  size: number;
  readonly perEntry: number;
  /** log2 of the range of indices in old filters, or 0 if they range over all bits. */
  readonly n2: number;
  readonly range: Modulus;
  readonly data: ForeignBits;
}

/** The description of a link in a dump. */
export type LinkHeader = Omit<Link, 'data' | 'range'>;

/** The error for a key that needs a link which the filter cannot get. */
export function fullError(why: string): RangeError {
  return new RangeError(`Cannot add the key: expected a filter that can grow, got a full one ${why}`);
}

/** Sizes a link as bloom_init does. */
export function newLink(capacity: number, error: number, flags: number): Link {
  if (capacity < 1) throw fullError('with an expansion of 0');
  if (error === 0) throw fullError('whose next link would have an error of 0');
  const perEntry = Math.abs(preciseLog(error) / LN2_SQUARED);
  const hashes = hashesFor(perEntry);
  let entries = capacity;
  let n2 = 0;
  let bits: number;
  if (flags & ENTS_IS_BITS) {
    // The capacity is a number of bits, as a power of two.
    n2 = checkInteger('log2 of the bits of the next link', capacity, 1, 36);
    bits = 2 ** n2;
    entries = Math.floor(bits / perEntry);
  } else if (flags & NOROUND) {
    bits = Math.max(1, Math.floor(capacity * perEntry));
  } else {
    // Rounded up to a power of two, with more entries for the additional bits.
    for (n2 = 1; 2 ** n2 <= capacity * perEntry; ) n2++;
    bits = 2 ** n2;
    entries += Math.floor(Math.floor(bits - capacity * perEntry) / perEntry);
  }
  const length = 8 * Math.ceil(bits / 64);
  checkInteger('bits of the next link', 8 * length, 1, MAX_BITS);
  const link = { bits: 8 * length, size: 0, error, perEntry, hashes, entries, n2 };
  return { ...link, data: ForeignBits.zeros(length), range: rangeOf(link) };
}

/** The range of the indices. */
export function rangeOf({ n2, bits }: LinkHeader): Modulus {
  return new Modulus(n2 > 0 ? 2 ** n2 : bits);
}

/** `ForeignBits.probe` of a link, for the key that was hashed last. */
export function probe({ hashes, range, data }: Link, adding: boolean): boolean {
  let low = first[0];
  let high = first[1];
  return data.probe(hashes, adding, () => {
    const index = range.of(high, low);
    const sum = (low + second[0]) | 0;
    high = (high + second[1] + (sum >>> 0 < low >>> 0 ? 1 : 0)) | 0;
    low = sum;
    return index;
  });
}

/** Hashes a key for `probe`. */
export function hashForLinks(key: string | Uint8Array, flags: number): void {
  const length = loadKey(key);
  const words = keyWords();
  if (flags & FORCE64) {
    murmur64a(words, length, SEED_LOW, SEED_HIGH, first);
    murmur64a(words, length, first[0], first[1], second);
  } else {
    first[0] = murmur2(words, length, OLD_SEED);
    second[0] = murmur2(words, length, first[0]);
    first[1] = second[1] = 0;
  }
}

/** The number of hashes for `bitsPerEntry` bits per key. */
export function hashesFor(bitsPerEntry: number): number {
  return Math.ceil(LN2 * bitsPerEntry);
}

// The server's constants have fifteen digits; more digits would give other sizes.
// biome-ignore lint/suspicious/noApproximativeNumericConstant: the last digit matters
const LN2 = 0.693147180559945;
const LN2_SQUARED = 0.480453013918201;
const SEED_LOW = 0x5bd1e995;
const SEED_HIGH = 0xc6a4a793 | 0;
const OLD_SEED = 0x9747b28c | 0;
const first = /* @__PURE__ */ new Int32Array(2);
const second = /* @__PURE__ */ new Int32Array(2);
