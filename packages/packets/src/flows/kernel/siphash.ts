/**
 * SipHash-1-3 of a key of whole 64-bit words, in JavaScript. Twin: assembly/flows/siphash.ts.
 *
 * Why a keyed hash. The sender of a packet chooses its addresses and ports. With a hash that the
 * sender can compute, a few thousand chosen flows would meet in one chain of the index and make it
 * slow, or meet a chosen flow in all rows of the filter and make that flow look heavy. SipHash
 * under a random key of 128 bits takes this away: a sender who does not see the table learns
 * nothing about collisions. It does not hide flows that are really sent: a flood of many flows
 * still fills memory, and the table answers by raising its threshold.
 *
 * Why 1-3 and not 2-4. It is the variant that the hash tables of Rust and Ruby use, and takes about
 * 6 rounds instead of 10 for a key of IPv4. Forge64 was refused: it has a seed, but makes no claim
 * against an attacker. The number of rounds is a parameter here for the test, which compares 2-4
 * with the library's.
 */

const state = new Int32Array(8);

/**
 * Hashes `words` 64-bit words, which begin at the 32-bit word `at` of `data`. `out` receives the
 * lower and the upper half.
 */
export function sipHashWords(
  data: Int32Array,
  at: number,
  words: number,
  secret: Int32Array,
  out: Int32Array,
  [wordRounds, lastRounds]: readonly [number, number] = [1, 3],
): void {
  const v = state;
  // Pairs of lower and upper half: v0, v1, v2, v3.
  v[0] = secret[0] ^ 0x70736575;
  v[1] = secret[1] ^ 0x736f6d65;
  v[2] = secret[2] ^ 0x6e646f6d;
  v[3] = secret[3] ^ 0x646f7261;
  v[4] = secret[0] ^ 0x6e657261;
  v[5] = secret[1] ^ 0x6c796765;
  v[6] = secret[2] ^ 0x79746573;
  v[7] = secret[3] ^ 0x74656462;
  for (let i = 0; i <= words; i++) {
    const low = i === words ? 0 : data[at + 2 * i];
    const high = i === words ? (8 * words) << 24 : data[at + 2 * i + 1];
    v[6] ^= low;
    v[7] ^= high;
    rounds(v, wordRounds);
    v[0] ^= low;
    v[1] ^= high;
  }
  v[4] ^= 0xff;
  rounds(v, lastRounds);
  out[0] = v[0] ^ v[2] ^ v[4] ^ v[6];
  out[1] = v[1] ^ v[3] ^ v[5] ^ v[7];
}

function rounds(v: Int32Array, count: number): void {
  let [aL, aH, bL, bH, cL, cH, dL, dH] = v;
  let x: number;
  for (let i = 0; i < count; i++) {
    // v0 += v1; v1 = rotl(v1, 13) ^ v0; v0 = rotl(v0, 32)
    x = (aL >>> 0) + (bL >>> 0);
    aH = (aH + bH + (x > 0xffffffff ? 1 : 0)) | 0;
    aL = x | 0;
    x = (bL << 13) | (bH >>> 19);
    bH = ((bH << 13) | (bL >>> 19)) ^ aH;
    bL = x ^ aL;
    x = aL;
    aL = aH;
    aH = x;
    // v2 += v3; v3 = rotl(v3, 16) ^ v2
    x = (cL >>> 0) + (dL >>> 0);
    cH = (cH + dH + (x > 0xffffffff ? 1 : 0)) | 0;
    cL = x | 0;
    x = (dL << 16) | (dH >>> 16);
    dH = ((dH << 16) | (dL >>> 16)) ^ cH;
    dL = x ^ cL;
    // v0 += v3; v3 = rotl(v3, 21) ^ v0
    x = (aL >>> 0) + (dL >>> 0);
    aH = (aH + dH + (x > 0xffffffff ? 1 : 0)) | 0;
    aL = x | 0;
    x = (dL << 21) | (dH >>> 11);
    dH = ((dH << 21) | (dL >>> 11)) ^ aH;
    dL = x ^ aL;
    // v2 += v1; v1 = rotl(v1, 17) ^ v2; v2 = rotl(v2, 32)
    x = (cL >>> 0) + (bL >>> 0);
    cH = (cH + bH + (x > 0xffffffff ? 1 : 0)) | 0;
    cL = x | 0;
    x = (bL << 17) | (bH >>> 15);
    bH = ((bH << 17) | (bL >>> 15)) ^ cH;
    bL = x ^ cL;
    x = cL;
    cL = cH;
    cH = x;
  }
  v[0] = aL;
  v[1] = aH;
  v[2] = bL;
  v[3] = bH;
  v[4] = cL;
  v[5] = cH;
  v[6] = dL;
  v[7] = dH;
}
