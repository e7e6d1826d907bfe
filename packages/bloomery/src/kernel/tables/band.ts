/**
 * The table under a `StaticFilter` of up to 10,000 keys: a banded linear system over GF(2), solved
 * by elimination. Twin: assembly/tables/band.ts. band-build.ts solves it.
 *
 * The table has m columns of `width` bits, m hardly more than the number of keys. A key has a
 * window of 64 neighbouring columns (all of them if m < 64) and a random bit for each. Its answer
 * is the XOR of the columns whose bit is 1 and of the key's fingerprint. Solving chooses the
 * columns so that every key of the set gets 0. Any other key gets `width` random bits.
 *
 *     z as in fuse.ts, with the number of the attempt;  zL, zH its halves;  w = min(64, m)
 *     start       = floor(zH * (m - w + 65) / 2^32) - 32, at least 0 and at most m - w
 *     row         = bits 0 … w - 1 of mix(zL + 0x85EBCA6B * zH) + 2^32 mix(zL + 0xC2B2AE35 * zH)
 *     mix(y): y ^= y >> 16;  y *= 0x7FEB352D;  y ^= y >> 15;  y *= 0x846CA68B;  y ^= y >> 16
 *     fingerprint = upper `width` bits of mix(…) as in fuse.ts
 *
 * The columns lie in planes: bit j of column i is bit j * m + i of the table. So a bit of the
 * answer is the parity of 64 neighbouring bits, of which the row selects some. A lookup stops at
 * the first bit that differs, which is the second on average for a non-member key.
 *
 * Why this. A random square system of n rows has a solution with probability 0.29, so with some
 * attempts n columns are enough, which is the lower bound. The band makes elimination cheap: a row
 * never has more than 64 bits. Windows begin up to 32 columns outside and are moved in, because the
 * columns at both ends would get too few keys otherwise. A band of 32 bits needs more columns from
 * a hundred keys on. One of 128 bits needs fewer above a thousand, and reads twice as much.
 *
 * We refused a minimal perfect hash function with fingerprints (survey 2.2): any such function
 * takes log2(e) = 1.44 bits per key in addition, 18 % at a rate of 2^-8. We refused elimination in
 * the four positions of the fuse table as well: a key has one slot in each segment, so the rows
 * span three dimensions less than there are slots, and ten keys need 16 of them. BloomierFilter
 * keeps the fuse table at every size, because `set` needs a slot of its own for each key, and
 * elimination gives none.
 *
 * Where it breaks down. A lookup reads a window in each of the `width` planes, where the fuse table
 * reads four slots: bench/results/small-sets.md has the times. Above 10,000 keys the windows become
 * too narrow, and the fuse table is built and queried faster.
 */

import { mulHigh } from '../../hashing/mul-high.ts';
import { type FuseLayout, MOST_ATTEMPTS } from './fuse.ts';

const imul = Math.imul;

/** The largest set that gets a band. */
export const BAND_KEYS = 10_000;
/** The most columns of a band. */
const MOST_COLUMNS = 2 ** 16;
/** The number of columns outside of the table at which a window may begin. */
const OUTSIDE = 32;

/** Whether a band like this can exist for `size` keys. There is none for an empty set. */
export function isSoundBand(size: number, columns: number, attempt: number): boolean {
  return size > 0 && size <= columns && columns <= MOST_COLUMNS && attempt < MOST_ATTEMPTS;
}

/**
 * The result of `locateRow`: start, lower and upper half of the row, fingerprint. Overwritten by
 * the next call.
 */
export const row = /* @__PURE__ */ new Int32Array(4);

/** Finds the row and the fingerprint of a hash, whose halves are int32. */
export function locateRow(layout: FuseLayout, low: number, high: number): void {
  const { slots, width } = layout;
  let xL = low ^ layout.seedLow;
  let xH = high ^ layout.seedHigh;
  let zH = (mulHigh(xL, 0x1ce4e5b9) + imul(xH, 0x1ce4e5b9) + imul(xL, 0xbf58476d)) | 0;
  xL = imul(xL, 0x1ce4e5b9) ^ zH;
  xH = zH;
  zH = (mulHigh(xL, 0x133111eb) + imul(xH, 0x133111eb) + imul(xL, 0x94d049bb)) | 0;
  const zL = imul(xL, 0x133111eb);
  const last = Math.max(0, slots - 64);
  const start = Math.floor(((zH >>> 0) * (last + 2 * OUTSIDE + 1)) / 4294967296) - OUTSIDE;
  row[0] = Math.min(last, Math.max(0, start));
  row[1] = mix((zL + imul(zH, 0x85ebca6b)) | 0);
  row[2] = mix((zL + imul(zH, 0xc2b2ae35)) | 0);
  if (slots <= 32) row[1] &= -1 >>> (32 - slots);
  if (slots < 64) row[2] &= slots <= 32 ? 0 : -1 >>> (64 - slots);
  let y = (zL + imul(zH, 0x9e3779b1)) | 0;
  y = imul(y ^ (y >>> 16), 0x7feb352d);
  row[3] = imul(y ^ (y >>> 15), 0x846ca68b) >>> (32 - width);
}

function mix(x: number): number {
  let y = imul(x ^ (x >>> 16), 0x7feb352d);
  y = imul(y ^ (y >>> 15), 0x846ca68b);
  return y ^ (y >>> 16);
}

/** 0 if the answer for a hash is 0, otherwise 1. */
export function bandAnswer(words: Uint32Array, layout: FuseLayout, low: number, high: number): number {
  locateRow(layout, low, high);
  const rowL = row[1];
  const rowH = row[2];
  const fingerprint = row[3];
  const { slots, width } = layout;
  for (let j = 0, bit = row[0]; j < width; j++, bit += slots) {
    const at = bit >>> 5;
    const shift = bit & 31;
    // Words beyond the table read as 0, and the row has no bits there.
    const middle = words[at + 1];
    const a = (words[at] >>> shift) | ((middle << (31 - shift)) << 1);
    const b = (middle >>> shift) | ((words[at + 2] << (31 - shift)) << 1);
    let x = (a & rowL) ^ (b & rowH);
    x ^= x >>> 16;
    x ^= x >>> 8;
    x ^= x >>> 4;
    // The parities of all values of four bits, in one number.
    if ((((0x6996 >>> (x & 15)) ^ (fingerprint >>> j)) & 1) !== 0) return 1;
  }
  return 0;
}
