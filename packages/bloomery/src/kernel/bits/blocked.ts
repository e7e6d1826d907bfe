/**
 * The probes of the blocked layouts: all bits of a key lie in one block, so a lookup touches one
 * cache line instead of k (Putze, Sanders, Singler 2007). Twin: assembly/bits/blocked.ts.
 *
 * Blocks of 512 bits. The upper half of the 64-bit hash chooses the block by multiplication (as in
 * classic.ts, so neighbouring blocks 2j and 2j+1 fold into the filter of half the size). Inside the
 * block:
 *
 *     v(1) = (h ^ (h >>> 32)) * M mod 2^64,   v(j+1) = (v(j) ^ (v(j) >>> 32)) * M,   M = 0x9e3779b97f4a7c15
 *     six probes of nine bits from each v, from the top: v>>>55, v>>>46, v>>>37, v>>>23, v>>>14, v>>>5
 *
 * (the cut in the middle keeps each probe within one 32-bit half, for JavaScript). v(1) is a
 * bijection of the whole hash: its six probes are exactly uniform and independent, where RocksDB's
 * multiples of one 32-bit number measure 0.957 % against a theoretical 0.9535 %.
 *
 * Split blocks have 256 bits, as Parquet specifies them: one bit in each of eight 32-bit words,
 * chosen by the top five bits of the lower hash half times a constant of that word.
 */

import { mulHigh } from '../../hashing/mul-high.ts';
import type { SetBit } from './classic.ts';

const imul = Math.imul;
const M_LOW = 0x7f4a7c15 | 0;
const M_HIGH = 0x9e3779b9 | 0;
const SHIFT16 = 1 / 65536;

export const BLOCK_BITS = 512;
export const SPLIT_BLOCK_BITS = 256;

/**
 * The block of a hash whose upper half is `high` (int32): floor(high * blocks / 2^32), exactly.
 * Computed in two steps of 16 bits, because one product is exact only up to 2^21 blocks. All values
 * are below 2^27, so `| 0` truncates like floor.
 */
export function blockIndex(high: number, blocks: number): number {
  const low = ((high & 0xffff) * blocks * SHIFT16) | 0;
  return (((high >>> 16) * blocks + low) * SHIFT16) | 0;
}

export function blockedHas(
  words: Uint32Array,
  low: number,
  high: number,
  blocks: number,
  k: number,
): boolean {
  const base = blockIndex(high, blocks) * 16;
  let vL = low ^ high;
  let vH = high;
  for (let left = k; left > 0; left -= 6) {
    const x = vL;
    vL = imul(x, M_LOW);
    vH = (mulHigh(x, M_LOW) + imul(vH, M_LOW) + imul(x, M_HIGH)) | 0;
    let r = words[base + (vH >>> 28)] >>> (vH >>> 23);
    if (left > 1) r &= words[base + ((vH >>> 19) & 15)] >>> (vH >>> 14);
    if (left > 2) r &= words[base + ((vH >>> 10) & 15)] >>> (vH >>> 5);
    if (left > 3) r &= words[base + (vL >>> 28)] >>> (vL >>> 23);
    if (left > 4) r &= words[base + ((vL >>> 19) & 15)] >>> (vL >>> 14);
    if (left > 5) r &= words[base + ((vL >>> 10) & 15)] >>> (vL >>> 5);
    if ((r & 1) === 0) return false;
    vL ^= vH;
  }
  return true;
}

/** Sets the key's bits with `set`; returns true if at least one of them was 0. */
export function blockedAdd(
  words: Uint32Array,
  low: number,
  high: number,
  blocks: number,
  k: number,
  set: SetBit,
): boolean {
  const base = blockIndex(high, blocks) * 16;
  let vL = low ^ high;
  let vH = high;
  let changed = false;
  for (let left = k; left > 0; left -= 6) {
    const x = vL;
    vL = imul(x, M_LOW);
    vH = (mulHigh(x, M_LOW) + imul(vH, M_LOW) + imul(x, M_HIGH)) | 0;
    for (let probe = 0, half = vH; probe < 6 && probe < left; probe++) {
      if (probe === 3) half = vL;
      if (set(words, base + (half >>> 28), 1 << (half >>> 23))) changed = true;
      half <<= 9;
    }
    vL ^= vH;
  }
  return changed;
}

/** Parquet's constants, one for each word of a split block (Parquet format, BloomFilter.md). */
const SALT = /* @__PURE__ */ new Int32Array([
  0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
]);

export function splitBlockHas(words: Uint32Array, low: number, high: number, blocks: number): boolean {
  const base = blockIndex(high, blocks) * 8;
  for (let i = 0; i < 8; i++) {
    if (((words[base + i] >>> (imul(low, SALT[i]) >>> 27)) & 1) === 0) return false;
  }
  return true;
}

export function splitBlockAdd(
  words: Uint32Array,
  low: number,
  high: number,
  blocks: number,
  set: SetBit,
): boolean {
  const base = blockIndex(high, blocks) * 8;
  let changed = false;
  for (let i = 0; i < 8; i++) {
    if (set(words, base + i, 1 << (imul(low, SALT[i]) >>> 27))) changed = true;
  }
  return changed;
}
