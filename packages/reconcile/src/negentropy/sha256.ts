/**
 * SHA-256 (FIPS 180-4), for the fingerprints of negentropy. A browser's own digest is asynchronous,
 * and a session without I/O cannot wait. The library has SHA-256 for the files of pybloom-live; it
 * is not one of its entry points, and comes with three other digests.
 */

// biome-ignore format: eight per line
const ROUND_CONSTANTS = /* @__PURE__ */ Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
);

// biome-ignore format: eight per line
const START = /* @__PURE__ */ Int32Array.of(
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
);

const schedule = /* @__PURE__ */ new Int32Array(64);

/** The 32 bytes of the digest. */
export function sha256(message: Uint8Array): Uint8Array<ArrayBuffer> {
  // A bit 1, zeros, and the length in bits fill the last block.
  const padded = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, message.length << 3);
  const state = START.slice();
  for (let at = 0; at < padded.length; at += 64) addBlock(state, view, at);
  const digest = new DataView(new ArrayBuffer(32));
  for (let i = 0; i < 8; i++) digest.setInt32(4 * i, state[i]);
  return new Uint8Array(digest.buffer);
}

/** Takes a block of 64 bytes into the state (FIPS 180-4, 6.2.2). */
function addBlock(state: Int32Array, view: DataView, at: number): void {
  const w = schedule;
  for (let t = 0; t < 16; t++) w[t] = view.getInt32(at + 4 * t);
  for (let t = 16; t < 64; t++) {
    const x = w[t - 15];
    const y = w[t - 2];
    const s0 = rotr(x, 7) ^ rotr(x, 18) ^ (x >>> 3);
    const s1 = rotr(y, 17) ^ rotr(y, 19) ^ (y >>> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t++) {
    const sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
    const t1 = (h + sum1 + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[t] + w[t]) | 0;
    const sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
    const t2 = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  const sums = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < 8; i++) state[i] += sums[i];
}

function rotr(x: number, places: number): number {
  return (x >>> places) | (x << (32 - places));
}
