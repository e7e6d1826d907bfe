/**
 * MD5 (RFC 1321), for Squid's cache keys. Nothing here relies on its security: collisions can be
 * made at will. It is part of the library because a browser's own digests are asynchronous and do
 * not include MD5.
 */

/**
 * Hashes the first `length` bytes of little-endian `words`; leaves four little-endian words in
 * `out`.
 */
export function md5(words: Int32Array, length: number, out: Int32Array): void {
  for (let i = 0; i < 4; i++) out[i] = START[i];
  const blocks = Math.floor((length + 8) / 64) + 1;
  for (let b = 0; b < blocks; b++) {
    for (let i = 0; i < 16; i++) block[i] = padded(words, length, 16 * b + i, 16 * blocks);
    transform(out);
  }
}

const START = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476];
const SHIFTS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
/**
 * floor(2^32 |sin(i + 1)|), RFC 1321, 3.4. The sines of engines differ only in digits far behind
 * these.
 */
const SINES = /* @__PURE__ */ Int32Array.from({ length: 64 }, (_, i) =>
  Math.floor(2 ** 32 * Math.abs(Math.sin(i + 1))),
);
const block = /* @__PURE__ */ new Int32Array(16);

/** Word i of the padded message: the key, a bit 1, zeros, and the length in bits. */
function padded(words: Int32Array, length: number, i: number, end: number): number {
  if (i === end - 2) return length << 3;
  if (i === end - 1) return length >>> 29;
  const rest = length - 4 * i;
  if (rest >= 4) return words[i];
  if (rest < 0) return 0;
  return rest === 0 ? 0x80 : (words[i] & ((1 << (8 * rest)) - 1)) | (0x80 << (8 * rest));
}

function transform(state: Int32Array): void {
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  for (let i = 0; i < 64; i++) {
    const round = i >>> 4;
    const mixed =
      round === 0
        ? (b & c) | (~b & d)
        : round === 1
          ? (d & b) | (~d & c)
          : round === 2
            ? b ^ c ^ d
            : c ^ (b | ~d);
    const from = round === 0 ? i : round === 1 ? 5 * i + 1 : round === 2 ? 3 * i + 5 : 7 * i;
    const sum = (a + mixed + SINES[i] + block[from & 15]) | 0;
    const turn = SHIFTS[4 * round + (i & 3)];
    a = d;
    d = c;
    c = b;
    b = (b + ((sum << turn) | (sum >>> (32 - turn)))) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}
