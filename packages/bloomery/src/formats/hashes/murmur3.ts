/**
 * MurmurHash3 by Austin Appleby (public domain, SMHasher), as foreign filters use it: the 128-bit
 * hash for 64-bit machines (Guava, Go), and Spark's variant of the 32-bit one. Checked against
 * SMHasher's verification values.
 *
 * Keys are little-endian words; see foreign-key.ts. The bytes after the last one may have any
 * value.
 */

import { mulHigh } from '../../hashing/mul-high.ts';

/** Two hashes of 64 bits: [h1 low, h1 high, h2 low, h2 high]. */
export type Murmur128 = Int32Array;

/**
 * MurmurHash3_x64_128 of the first `length` bytes of `words`. It uses local variables, two for each
 * 64-bit value. That is twice as fast as the registers of int64.ts, and every Guava or Go lookup
 * depends on it.
 *
 * With `signedTail` the bytes of the last, incomplete block are taken as signed numbers, which is a
 * fault of Cassandra that its files depend on: a byte of 128 or more flips all bits above it.
 */
export function murmur3x64(
  words: Int32Array,
  length: number,
  seed: number,
  out: Murmur128,
  signedTail = false,
): void {
  let aL = seed | 0; // h1
  let aH = 0;
  let bL = seed | 0; // h2
  let bH = 0;
  const body = (length >>> 4) * 4;
  const tail = length & 15;
  for (let p = 0; p <= body; p += 4) {
    const last = p === body;
    if (last && tail === 0) break;
    // The tail's second half goes in first, but the two halves do not interact, so the order does
    // not matter.
    let low = last ? cut(words[p], tail) : words[p];
    let high = last ? cut(words[p + 1], tail - 4) : words[p + 1];
    if (last && signedTail) {
      high ^= flipsAbove(high) ^ flipsBeyond(low);
      low ^= flipsAbove(low);
    }
    let turned: number;
    high = highOf(low, high, C1L, C1H);
    low = imul(low, C1L);
    turned = (low << 31) | (high >>> 1); // rotated by 31
    high = (high << 31) | (low >>> 1);
    aH ^= highOf(turned, high, C2L, C2H);
    aL ^= imul(turned, C2L);
    if (!last) {
      turned = (aL << 27) | (aH >>> 5); // rotated by 27
      aH = (aH << 27) | (aL >>> 5);
      aL = (turned + bL) | 0;
      aH = (aH + bH + (aL >>> 0 < bL >>> 0 ? 1 : 0)) | 0;
      aH = highOf(aL, aH, 5, 0);
      aL = (imul(aL, 5) + 0x52dce729) | 0;
      aH = (aH + (aL >>> 0 < 0x52dce729 ? 1 : 0)) | 0;
    } else if (tail <= 8) break;
    low = last ? cut(words[p + 2], tail - 8) : words[p + 2];
    high = last ? cut(words[p + 3], tail - 12) : words[p + 3];
    if (last && signedTail) {
      high ^= flipsAbove(high) ^ flipsBeyond(low);
      low ^= flipsAbove(low);
    }
    high = highOf(low, high, C2L, C2H);
    low = imul(low, C2L);
    turned = (high << 1) | (low >>> 31); // rotated by 33
    high = (low << 1) | (high >>> 31);
    bH ^= highOf(turned, high, C1L, C1H);
    bL ^= imul(turned, C1L);
    if (last) break;
    turned = (bL << 31) | (bH >>> 1); // rotated by 31
    bH = (bH << 31) | (bL >>> 1);
    bL = (turned + aL) | 0;
    bH = (bH + aH + (bL >>> 0 < aL >>> 0 ? 1 : 0)) | 0;
    bH = highOf(bL, bH, 5, 0);
    bL = (imul(bL, 5) + 0x38495ab5) | 0;
    bH = (bH + (bL >>> 0 < 0x38495ab5 ? 1 : 0)) | 0;
  }
  out[0] = aL ^ length;
  out[1] = aH;
  out[2] = bL ^ length;
  out[3] = bH;
  addTo(out, 0, 2);
  addTo(out, 2, 0);
  finish(out, 0);
  finish(out, 2);
  addTo(out, 0, 2);
  addTo(out, 2, 0);
}

/**
 * The finaliser of MurmurHash3 for the 64 bits at `at` (low half first), which is also the hash of
 * binary fuse filters.
 */
export function finish(pair: Int32Array, at: number): void {
  let low = pair[at];
  let high = pair[at + 1];
  low ^= high >>> 1;
  high = highOf(low, high, 0xed558ccd, 0xff51afd7);
  low = imul(low, 0xed558ccd);
  low ^= high >>> 1;
  high = highOf(low, high, 0x1a85ec53, 0xc4ceb9fe);
  low = imul(low, 0x1a85ec53);
  pair[at] = low ^ (high >>> 1);
  pair[at + 1] = high;
}

/**
 * Spark's 32-bit hash (Murmur3_x86_32.hashUnsafeBytes): MurmurHash3_x86_32, except that each byte
 * of the tail is taken as a signed number and mixed in like a whole word.
 */
export function sparkMurmur3(words: Int32Array, length: number, seed: number): number {
  let h = seed | 0;
  const body = length >>> 2;
  for (let p = 0; p < body; p++) h = mix32(h, words[p]);
  for (let i = 4 * body; i < length; i++) h = mix32(h, (words[body] << (24 - 8 * (i & 3))) >> 24);
  h ^= length;
  h = imul(h ^ (h >>> 16), 0x85ebca6b);
  h = imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

const imul = Math.imul;
const C1L = 0x114253d5;
const C1H = 0x87c37b91 | 0;
const C2L = 0x2745937f;
const C2H = 0x4cf5ad43;

/** The first `count` bytes of a word: the whole word from 4 on, 0 below 1. */
function cut(word: number, count: number): number {
  if (count >= 4) return word;
  return count <= 0 ? 0 : word & ((1 << (8 * count)) - 1);
}

/** The bits of a word that its negative bytes flip: all above each of them. */
function flipsAbove(word: number): number {
  return (((word << 24) >> 31) << 8) ^ (((word << 16) >> 31) << 16) ^ (((word << 8) >> 31) << 24);
}

/** The bits of the next word that they flip: all of them if the number of negative bytes is odd. */
function flipsBeyond(word: number): number {
  return -(((word >>> 7) ^ (word >>> 15) ^ (word >>> 23) ^ (word >>> 31)) & 1);
}

/** The upper half of the lower 64 bits of a product. */
function highOf(aL: number, aH: number, cL: number, cH: number): number {
  return (mulHigh(aL, cL) + imul(aL, cH) + imul(aH, cL)) | 0;
}

/** pair[at] += pair[from], 64 bits each. */
function addTo(pair: Int32Array, at: number, from: number): void {
  const low = (pair[at] + pair[from]) | 0;
  pair[at + 1] += pair[from + 1] + (low >>> 0 < pair[from] >>> 0 ? 1 : 0);
  pair[at] = low;
}

function mix32(h: number, word: number): number {
  let k = imul(word, 0xcc9e2d51);
  k = imul((k << 15) | (k >>> 17), 0x1b873593);
  const mixed = h ^ k;
  return (imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}
