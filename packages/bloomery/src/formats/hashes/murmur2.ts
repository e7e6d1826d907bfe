/**
 * MurmurHash2 by Austin Appleby (public domain, SMHasher), as RedisBloom uses it: the 64-bit hash
 * for 64-bit machines (MurmurHash64A), and the 32-bit one of filters from before RedisBloom hashed
 * with 64 bits.
 *
 * Keys are little-endian words; see foreign-key.ts. The bytes after the last one may have any
 * value.
 */

import { multiply, r, set, xor, xorShift } from '../shared/int64.ts';

/** MurmurHash64A under a 64-bit seed; leaves [low, high] in `out`. */
export function murmur64a(
  words: Int32Array,
  length: number,
  seedLow: number,
  seedHigh: number,
  out: Int32Array,
): void {
  set(H, length, 0);
  multiply(H, ML, MH);
  xor(H, seedLow, seedHigh);
  const body = (length >>> 3) * 2;
  for (let p = 0; p < body; p += 2) {
    set(K, words[p], words[p + 1]);
    multiply(K, ML, MH);
    xorShift(K, 47);
    multiply(K, ML, MH);
    xor(H, r[K], r[K + 1]);
    multiply(H, ML, MH);
  }
  const tail = length & 7;
  if (tail > 0) {
    const low = tail >= 4 ? words[body] : words[body] & ((1 << (8 * tail)) - 1);
    const high = tail > 4 ? words[body + 1] & ((1 << (8 * (tail - 4))) - 1) : 0;
    xor(H, low, high);
    multiply(H, ML, MH);
  }
  xorShift(H, 47);
  multiply(H, ML, MH);
  xorShift(H, 47);
  out[0] = r[H];
  out[1] = r[H + 1];
}

/** MurmurHash2, 32 bits. */
export function murmur2(words: Int32Array, length: number, seed: number): number {
  let h = seed ^ length;
  const body = length >>> 2;
  for (let p = 0; p < body; p++) {
    let k = imul(words[p], ML);
    k = imul(k ^ (k >>> 24), ML);
    h = imul(h, ML) ^ k;
  }
  const tail = length & 3;
  if (tail > 0) h = imul(h ^ (words[body] & ((1 << (8 * tail)) - 1)), ML);
  h = imul(h ^ (h >>> 13), ML);
  return h ^ (h >>> 15);
}

const imul = Math.imul;
const ML = 0x5bd1e995;
const MH = 0xc6a4a793 | 0;
const H = 0;
const K = 2;
