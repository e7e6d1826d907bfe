/**
 * Forge64: the library's own 64-bit hash, in JavaScript. Twin: assembly/hashing/forge64.ts.
 *
 * Why a hash of our own. We measured the published ones first (docs/notes/hash.md). Those built on
 * 64x64->128 products are three to five times slower in WebAssembly. XXH64, the best of the rest,
 * finishes a key byte by byte, and real keys, which have different lengths, make the processor
 * mispredict at every step. Forge64 takes the last 16 bytes under one mask, and has one 64-bit
 * product for every eight bytes where XXH64 has three; in JavaScript each of them costs seven
 * 32-bit ones. Hashing URLs of 44 to 56 bytes takes 13 ns against 18 in WebAssembly, copying
 * included, and 137 against 454 in JavaScript (npm run bench:kernel -- --only hash). The price is
 * that other languages have to implement these lines; docs/spec/frame.md has them.
 *
 *     a = seed ^ K0;  b = rotl(seed, 32) ^ length * K3                    all modulo 2^64
 *     for each 16 bytes, the last of them filled up with zeros (16 zeros if there are none):
 *       w0, w1 = the two little-endian words
 *       u = w0 ^ rotl(w1, 32);  v = w1 ^ rotl(u, 21)
 *       a = (a ^ u) * K1;       b = (b ^ v) * K2
 *       a ^= a >> 32;           b ^= b >> 32
 *       a += rotl(b, 17);       b ^= rotl(a, 41)
 *     h = a ^ seed ^ b * K3;  h ^= h >> 32;  h *= K4;  h ^= h >> 29;  h *= K5;  h ^= h >> 32
 *
 * Why it is sound. A block step is a bijection of the state for every block, and of the block for
 * every state. So two keys of the same length that differ in one block never collide before the
 * last line. A multiplication carries differences upwards only, so a difference in the top bits of
 * a word would stay small. Therefore each word enters both lanes, rotated, and is low in at least
 * one of them. The length is in the state, so zeros at the end are not lost. The seed is used
 * twice, because at the start alone it would have the same effect as a change of the first block.
 * The tests are in forge64.test.ts (avalanche of key and seed, sparse differences) and
 * structured-keys.test.ts (realistic keys).
 *
 * It is not keyed: an attacker who knows the seed can make collisions. Use siphash.ts for hostile
 * keys.
 */

import type { HashOut } from './hash-scheme.ts';
import { mulHigh } from './mul-high.ts';

const imul = Math.imul;
const K1L = 0x1ce4e5b9;
const K1H = 0xbf58476d | 0;
const K2L = 0x133111eb;
const K2H = 0x94d049bb | 0;
const K3L = 0x6659fd93;
const K3H = 0xd6e8feb8 | 0;

/**
 * Hashes the first `length` bytes of `words`, which holds them as little-endian 32-bit words. The
 * bytes after the last one may have any value. Local variables end in L and H for the two halves of
 * a 64-bit value.
 */
export function forge64Words(
  words: Int32Array,
  length: number,
  seedL: number,
  seedH: number,
  out: HashOut,
): void {
  let aL = seedL ^ 0x7f4a7c15;
  let aH = seedH ^ 0x9e3779b9;
  let bL = seedH ^ imul(length, K3L);
  let bH = seedL ^ (mulHigh(length, K3L) + imul(length, K3H));
  let xL: number;
  let xH: number;
  for (let p = 0, left = length; ; p += 4, left -= 16) {
    const w1L = kept(words[p + 2], left - 8);
    const w1H = kept(words[p + 3], left - 12);
    const uL = kept(words[p], left) ^ w1H;
    const uH = kept(words[p + 1], left - 4) ^ w1L;
    xL = aL ^ uL;
    xH = aH ^ uH;
    aH = (mulHigh(xL, K1L) + imul(xH, K1L) + imul(xL, K1H)) | 0;
    aL = imul(xL, K1L) ^ aH;
    xL = bL ^ w1L ^ ((uL << 21) | (uH >>> 11));
    xH = bH ^ w1H ^ ((uH << 21) | (uL >>> 11));
    bH = (mulHigh(xL, K2L) + imul(xH, K2L) + imul(xL, K2H)) | 0;
    bL = imul(xL, K2L) ^ bH;
    xL = (bL << 17) | (bH >>> 15);
    aL = (aL + xL) | 0;
    aH = (aH + ((bH << 17) | (bL >>> 15)) + (aL >>> 0 < xL >>> 0 ? 1 : 0)) | 0;
    bL ^= (aH << 9) | (aL >>> 23);
    bH ^= (aL << 9) | (aH >>> 23);
    if (left <= 16) break;
  }
  xH = aH ^ seedH ^ (mulHigh(bL, K3L) + imul(bH, K3L) + imul(bL, K3H));
  xL = aL ^ seedL ^ imul(bL, K3L) ^ xH;
  aH = (mulHigh(xL, 0xed558ccd) + imul(xH, 0xed558ccd) + imul(xL, 0xff51afd7)) | 0;
  aL = imul(xL, 0xed558ccd);
  xL = aL ^ ((aL >>> 29) | (aH << 3));
  xH = aH ^ (aH >>> 29);
  aH = (mulHigh(xL, 0x1a85ec53) + imul(xH, 0x1a85ec53) + imul(xL, 0xc4ceb9fe)) | 0;
  out[0] = imul(xL, 0x1a85ec53) ^ aH;
  out[1] = aH;
}

/**
 * The word with all bytes cleared that do not belong to the key, of which it holds `bytes` bytes.
 */
function kept(word: number, bytes: number): number {
  return bytes >= 4 ? word : bytes > 0 ? word & ((1 << (8 * bytes)) - 1) : 0;
}
