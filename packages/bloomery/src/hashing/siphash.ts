/**
 * SipHash-2-4 (Aumasson and Bernstein 2012) in JavaScript: a keyed hash with a 128-bit secret key.
 *
 * Why it is here. With a public hash, an adversary who chooses keys can choose those that set the
 * most bits, or those that will be false positives (Gerbet, Kumar and Lauradoux, "The power of evil
 * choices in Bloom filters", 2015). With a pseudo-random function and a secret key, chosen keys are
 * as good as random ones. SipHash is the standard choice for that. We use 2-4 rather than the
 * faster 1-3 because its authors published vectors for it, and because a filter's answers are an
 * oracle that an adversary may query for years.
 *
 * It has no multiplication, so 32-bit halves cost little. Twin: assembly/hashing/siphash.ts.
 */

import type { HashOut } from './hash-scheme.ts';

/** Hashes the first `length` bytes of `words` (little-endian) under the four key words `key`. */
export function sipHash24Words(words: Int32Array, length: number, key: Int32Array, out: HashOut): void {
  let v0L = key[0] ^ 0x70736575;
  let v0H = key[1] ^ 0x736f6d65;
  let v1L = key[2] ^ 0x6e646f6d;
  let v1H = key[3] ^ 0x646f7261;
  let v2L = key[0] ^ 0x6e657261;
  let v2H = key[1] ^ 0x6c796765;
  let v3L = key[2] ^ 0x79746573;
  let v3H = key[3] ^ 0x74656462;
  const whole = length >>> 3;
  for (let w = 0; w <= whole + 1; w++) {
    let mL = 0;
    let mH = 0;
    let rounds = 2;
    if (w < whole) {
      mL = words[2 * w];
      mH = words[2 * w + 1];
    } else if (w === whole) {
      // The last word holds the rest of the message, and the length in its top byte.
      const left = length & 7;
      if (left >= 4) mL = words[2 * w];
      else if (left > 0) mL = words[2 * w] & ((1 << (8 * left)) - 1);
      if (left > 4) mH = words[2 * w + 1] & ((1 << (8 * (left - 4))) - 1);
      mH |= length << 24;
    } else {
      v2L ^= 0xff;
      rounds = 4;
    }
    v3L ^= mL;
    v3H ^= mH;
    do {
      let t = v0L;
      v0L = (v0L + v1L) | 0;
      v0H = (v0H + v1H + carry(v0L, t)) | 0;
      t = v1L;
      v1L = ((v1L << 13) | (v1H >>> 19)) ^ v0L;
      v1H = ((v1H << 13) | (t >>> 19)) ^ v0H;
      t = v0L; // v0 = rotl(v0, 32)
      v0L = v0H;
      v0H = t;
      t = v2L;
      v2L = (v2L + v3L) | 0;
      v2H = (v2H + v3H + carry(v2L, t)) | 0;
      t = v3L;
      v3L = ((v3L << 16) | (v3H >>> 16)) ^ v2L;
      v3H = ((v3H << 16) | (t >>> 16)) ^ v2H;
      t = v0L;
      v0L = (v0L + v3L) | 0;
      v0H = (v0H + v3H + carry(v0L, t)) | 0;
      t = v3L;
      v3L = ((v3L << 21) | (v3H >>> 11)) ^ v0L;
      v3H = ((v3H << 21) | (t >>> 11)) ^ v0H;
      t = v2L;
      v2L = (v2L + v1L) | 0;
      v2H = (v2H + v1H + carry(v2L, t)) | 0;
      t = v1L;
      v1L = ((v1L << 17) | (v1H >>> 15)) ^ v2L;
      v1H = ((v1H << 17) | (t >>> 15)) ^ v2H;
      t = v2L; // v2 = rotl(v2, 32)
      v2L = v2H;
      v2H = t;
    } while (--rounds > 0);
    v0L ^= mL;
    v0H ^= mH;
  }
  out[0] = v0L ^ v1L ^ v2L ^ v3L;
  out[1] = v0H ^ v1H ^ v2H ^ v3H;
}

function carry(sum: number, part: number): number {
  return sum >>> 0 < part >>> 0 ? 1 : 0;
}
