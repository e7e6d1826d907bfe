/**
 * FNV-1 of 64 bits (Fowler, Noll, Vo), the hash of DCSO: multiply by the prime, then XOR the byte.
 */

import { multiply, r, set } from '../shared/int64.ts';

/** Hashes the first `length` bytes of little-endian `words`; leaves [low, high] in `out`. */
export function fnv1(words: Int32Array, length: number, out: Int32Array): void {
  set(0, 0x84222325 | 0, 0xcbf29ce4 | 0);
  for (let i = 0; i < length; i++) {
    multiply(0, 0x1b3, 0x100);
    r[0] ^= (words[i >>> 2] >>> (8 * (i & 3))) & 255;
  }
  out[0] = r[0];
  out[1] = r[1];
}
