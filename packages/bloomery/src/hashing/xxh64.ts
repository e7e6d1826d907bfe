/**
 * XXH64 in JavaScript, bit for bit the hash of Yann Collet's specification (xxHash,
 * doc/xxhash_spec.md). It is Parquet's hash, for filters that are exchanged with Parquet. Twin:
 * assembly/hashing/xxh64.ts. JavaScript has no 64-bit integers that are fast everywhere, so each
 * product below is built from seven 32-bit ones.
 */

import type { HashOut } from './hash-scheme.ts';
import { mulHigh } from './mul-high.ts';

const imul = Math.imul;

/**
 * Hashes the first `length` bytes of `words`, which holds them as little-endian 32-bit words. The
 * bytes after the last one may have any value.
 *
 * Values of 64 bits lie in `r`, two int32 each, low half first: the hash at 0, the operand at 2,
 * the four lanes from 4 on. We use an array instead of local variables: it is a third slower, and
 * the code is half as long.
 */
export function xxh64Words(
  words: Int32Array,
  length: number,
  seedL: number,
  seedH: number,
  out: HashOut,
): void {
  let p = 0;
  let left = length;
  if (length >= 32) {
    for (let lane = 4; lane < 12; lane += 2) set(lane, seedL, seedH);
    add(4, P1L, P1H);
    add(4, P2L, P2H);
    add(6, P2L, P2H);
    add(10, -P1L, ~P1H);
    for (; left >= 32; left -= 32) {
      for (let lane = 4; lane < 12; lane += 2, p += 2) round(lane, words[p], words[p + 1]);
    }
    set(0, 0, 0);
    for (let lane = 4; lane < 12; lane += 2) {
      const turn = lane < 6 ? 1 : lane < 8 ? 7 : lane < 10 ? 12 : 18;
      set(2, r[lane], r[lane + 1]);
      rotate(2, turn);
      add(0, r[2], r[3]);
    }
    for (let lane = 4; lane < 12; lane += 2) mixIn(r[lane], r[lane + 1], 0);
  } else {
    set(0, seedL, seedH);
    add(0, P5L, P5H);
  }
  add(0, length, 0);
  for (; left >= 8; left -= 8, p += 2) mixIn(words[p], words[p + 1], 27);
  if (left >= 4) {
    multiplied(words[p++], P1L, P1H, 23, P2L, P2H);
    add(0, P3L, P3H);
    left -= 4;
  }
  for (let tail = words[p]; left > 0; left--, tail >>>= 8) multiplied(tail & 255, P5L, P5H, 11, P1L, P1H);
  r[0] ^= r[1] >>> 1; // h ^= h >>> 33
  multiply(0, P2L, P2H);
  r[0] ^= (r[0] >>> 29) | (r[1] << 3); // h ^= h >>> 29
  r[1] ^= r[1] >>> 29;
  multiply(0, P3L, P3H);
  out[0] = r[0] ^ r[1]; // h ^= h >>> 32
  out[1] = r[1];
}

const P1L = 0x85ebca87 | 0;
const P1H = 0x9e3779b1 | 0;
const P2L = 0x27d4eb4f | 0;
const P2H = 0xc2b2ae3d | 0;
const P3L = 0x9e3779f9 | 0;
const P3H = 0x165667b1 | 0;
const P4L = 0xc2b2ae63 | 0;
const P4H = 0x85ebca77 | 0;
const P5L = 0x165667c5 | 0;
const P5H = 0x27d4eb2f | 0;

const r = /* @__PURE__ */ new Int32Array(12);

function set(at: number, low: number, high: number): void {
  r[at] = low;
  r[at + 1] = high;
}

function add(at: number, low: number, high: number): void {
  const sum = (r[at] + low) | 0;
  r[at + 1] += high + (sum >>> 0 < low >>> 0 ? 1 : 0);
  r[at] = sum;
}

function rotate(at: number, turn: number): void {
  const low = r[at];
  const high = r[at + 1];
  r[at] = (low << turn) | (high >>> (32 - turn));
  r[at + 1] = (high << turn) | (low >>> (32 - turn));
}

function multiply(at: number, low: number, high: number): void {
  const a = r[at];
  r[at + 1] = mulHigh(a, low) + imul(a, high) + imul(r[at + 1], low);
  r[at] = imul(a, low);
}

/** lane = rotate(lane + x * P2, 31) * P1 */
function round(lane: number, low: number, high: number): void {
  set(2, low, high);
  multiply(2, P2L, P2H);
  add(lane, r[2], r[3]);
  rotate(lane, 31);
  multiply(lane, P1L, P1H);
}

/** hash = rotate(hash ^ round(0, x), turn) * P1 + P4 */
function mixIn(low: number, high: number, turn: number): void {
  set(2, low, high);
  multiply(2, P2L, P2H);
  rotate(2, 31);
  multiply(2, P1L, P1H);
  r[0] ^= r[2];
  r[1] ^= r[3];
  if (turn > 0) rotate(0, turn);
  multiply(0, P1L, P1H);
  add(0, P4L, P4H);
}

/** hash = rotate(hash ^ x * a, turn) * b, for an x of 32 bits */
function multiplied(x: number, aL: number, aH: number, turn: number, bL: number, bH: number): void {
  set(2, x, 0);
  multiply(2, aL, aH);
  r[0] ^= r[2];
  r[1] ^= r[3];
  rotate(0, turn);
  multiply(0, bL, bH);
}
