/**
 * SHA-1, SHA-256, SHA-384 and SHA-512 (FIPS 180-4), for pybloom-live. They are part of the library
 * because a browser's own digests are asynchronous. Nothing here relies on their security, and
 * SHA-1 has none left.
 *
 * The constants are the first bits of the fractions of square and cube roots of primes (FIPS 180-4,
 * 4.2 and 5.3). They are computed at first use, in less than a millisecond, instead of listed.
 */

export type ShaName = 'sha1' | 'sha256' | 'sha384' | 'sha512';

/** The digest of the first `length` bytes of `message`. */
export function sha(name: ShaName, message: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  if (name === 'sha1') return digest32(message, length, SHA1_START, 5, sha1Block);
  if (name === 'sha256') return digest32(message, length, highWords(startOf(0)), 8, sha256Block);
  return digest64(message, length, startOf(name === 'sha384' ? 8 : 0), name === 'sha384' ? 48 : 64);
}

type Block32 = (state: Int32Array, words: Int32Array) => void;

function digest32(
  message: Uint8Array,
  length: number,
  start: ArrayLike<number>,
  words: number,
  run: Block32,
): Uint8Array<ArrayBuffer> {
  const state = Int32Array.from(start);
  const view = padded(message, length, 64);
  for (let at = 0; at < view.byteLength; at += 64) {
    for (let i = 0; i < 16; i++) schedule[i] = view.getInt32(at + 4 * i);
    run(state, schedule);
  }
  return bigEndian(state).subarray(0, 4 * words);
}

/** SHA-512 of 64-bit words, which are pairs of 32-bit ones, upper half first. */
function digest64(
  message: Uint8Array,
  length: number,
  start: Int32Array,
  bytes: number,
): Uint8Array<ArrayBuffer> {
  const state = start.slice();
  const view = padded(message, length, 128);
  for (let at = 0; at < view.byteLength; at += 128) {
    for (let i = 0; i < 32; i++) schedule[i] = view.getInt32(at + 4 * i);
    sha512Block(state, schedule);
  }
  return bigEndian(state).subarray(0, bytes);
}

/** The message, a bit 1, zeros, and the length in bits, in whole blocks. */
function padded(message: Uint8Array, length: number, block: number): DataView {
  const room = block / 8; // for the length: 8 or 16 bytes
  const bytes = new Uint8Array(Math.ceil((length + 1 + room) / block) * block);
  bytes.set(message.subarray(0, length));
  bytes[length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(length / 2 ** 29));
  view.setUint32(bytes.length - 4, length << 3);
  return view;
}

function bigEndian(state: Int32Array): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(4 * state.length));
  for (let i = 0; i < state.length; i++) view.setInt32(4 * i, state[i]);
  return new Uint8Array(view.buffer);
}

function rotl(x: number, places: number): number {
  return (x << places) | (x >>> (32 - places));
}

function sha1Block(state: Int32Array, w: Int32Array): void {
  for (let i = 16; i < 80; i++) w[i] = rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  let [a, b, c, d, e] = state;
  for (let i = 0; i < 80; i++) {
    const round = Math.floor(i / 20);
    const f = round === 0 ? (b & c) | (~b & d) : round === 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
    const sum = (rotl(a, 5) + f + e + SHA1_ROUNDS[round] + w[i]) | 0;
    e = d;
    d = c;
    c = rotl(b, 30);
    b = a;
    a = sum;
  }
  addAll(state, [a, b, c, d, e]);
}

function sha256Block(state: Int32Array, w: Int32Array): void {
  const k = roundConstants();
  const turn = (x: number, p: number, q: number, s: number) =>
    rotl(x, 32 - p) ^ rotl(x, 32 - q) ^ rotl(x, 32 - s);
  for (let i = 16; i < 64; i++) {
    const [x, y] = [w[i - 15], w[i - 2]];
    const s0 = rotl(x, 25) ^ rotl(x, 14) ^ (x >>> 3);
    const s1 = rotl(y, 15) ^ rotl(y, 13) ^ (y >>> 10);
    w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const t1 = (h + turn(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + k[2 * i] + w[i]) | 0;
    const t2 = (turn(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  addAll(state, [a, b, c, d, e, f, g, h]);
}

function addAll(state: Int32Array, values: readonly number[]): void {
  for (let i = 0; i < values.length; i++) state[i] += values[i];
}

/** A sum of 64-bit words, upper half first, in `sum`. */
const sum = /* @__PURE__ */ new Int32Array(2);

function clearSum(): void {
  sum[0] = 0;
  sum[1] = 0;
}

function addToSum(high: number, low: number): void {
  const before = sum[1] >>> 0;
  sum[1] += low;
  sum[0] += high + (sum[1] >>> 0 < before ? 1 : 0);
}

/** Adds the XOR of three rotations to the sum, or of two rotations and a shift. */
function addTurned(high: number, low: number, p: number, q: number, s: number, shift = false): void {
  const turned = (places: number, upper: boolean) => {
    const [h, l] = places >= 32 ? [low, high] : [high, low];
    const by = places & 31;
    const [one, other] = upper ? [h, l] : [l, h];
    return by === 0 ? one : (one >>> by) | (other << (32 - by));
  };
  const lastHigh = shift ? high >>> s : turned(s, true);
  const lastLow = shift ? (low >>> s) | (high << (32 - s)) : turned(s, false);
  addToSum(turned(p, true) ^ turned(q, true) ^ lastHigh, turned(p, false) ^ turned(q, false) ^ lastLow);
}

function sha512Block(state: Int32Array, w: Int32Array): void {
  for (let i = 32; i < 160; i += 2) {
    clearSum();
    addToSum(w[i - 32], w[i - 31]);
    addTurned(w[i - 30], w[i - 29], 1, 8, 7, true);
    addToSum(w[i - 14], w[i - 13]);
    addTurned(w[i - 4], w[i - 3], 19, 61, 6, true);
    w[i] = sum[0];
    w[i + 1] = sum[1];
  }
  const k = roundConstants();
  const v = state.slice(); // a to h, in pairs
  for (let i = 0; i < 160; i += 2) {
    clearSum();
    addToSum(v[14], v[15]);
    addTurned(v[8], v[9], 14, 18, 41);
    addToSum((v[8] & v[10]) ^ (~v[8] & v[12]), (v[9] & v[11]) ^ (~v[9] & v[13]));
    addToSum(k[i], k[i + 1]);
    addToSum(w[i], w[i + 1]);
    const [high, low] = sum;
    addTurned(v[0], v[1], 28, 34, 39);
    addToSum((v[0] & v[2]) ^ (v[0] & v[4]) ^ (v[2] & v[4]), (v[1] & v[3]) ^ (v[1] & v[5]) ^ (v[3] & v[5]));
    const [topHigh, topLow] = sum;
    clearSum();
    addToSum(v[6], v[7]);
    addToSum(high, low);
    v.copyWithin(2, 0, 14);
    v[8] = sum[0];
    v[9] = sum[1];
    v[0] = topHigh;
    v[1] = topLow;
  }
  for (let i = 0; i < 16; i += 2) {
    clearSum();
    addToSum(state[i], state[i + 1]);
    addToSum(v[i], v[i + 1]);
    state[i] = sum[0];
    state[i + 1] = sum[1];
  }
}

const SHA1_START = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476, 0xc3d2e1f0 | 0];
const SHA1_ROUNDS = [0x5a827999, 0x6ed9eba1, 0x8f1bbcdc | 0, 0xca62c1d6 | 0];
const schedule = /* @__PURE__ */ new Int32Array(160);

let constants: Int32Array | undefined;

/** The round constants of SHA-512; the upper halves of the first 64 are those of SHA-256. */
function roundConstants(): Int32Array {
  constants ??= fractions(primes(80), 3n);
  return constants;
}

const starts = /* @__PURE__ */ new Map<number, Int32Array>();

/** The first state, from the square roots of eight primes from number `from` on. */
function startOf(from: number): Int32Array {
  const known = starts.get(from) ?? fractions(primes(16).slice(from, from + 8), 2n);
  starts.set(from, known);
  return known;
}

function highWords(pairs: Int32Array): Int32Array {
  return pairs.filter((_, i) => i % 2 === 0);
}

/** The first 64 bits of the fraction of each number's root of this degree. */
function fractions(numbers: readonly number[], degree: bigint): Int32Array {
  const words: number[] = [];
  for (const number of numbers) {
    const fraction = root(BigInt(number) << (64n * degree), degree);
    words.push(Number(BigInt.asIntN(32, fraction >> 32n)), Number(BigInt.asIntN(32, fraction)));
  }
  return Int32Array.from(words);
}

/** The largest integer whose power of this degree is at most `value`, by Newton's method. */
function root(value: bigint, degree: bigint): bigint {
  let guess = 2n ** 72n; // above every root here
  for (;;) {
    const next = ((degree - 1n) * guess + value / guess ** (degree - 1n)) / degree;
    if (next >= guess) return guess;
    guess = next;
  }
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((p) => n % p !== 0)) found.push(n);
  return found;
}
