/**
 * PostgreSQL's own hash functions, so that a filter built anywhere can be asked by a PostgreSQL
 * server with the functions that it has built in. `hashtextextended`, `uuid_hash_extended` and
 * `hashint8extended` exist since PostgreSQL 11. All of them rest on Bob Jenkins' lookup3 with a
 * 64-bit seed.
 *
 * The server hashes the bytes of a text in its own encoding, so the port agrees with servers whose
 * encoding is UTF-8. It reads 32-bit words in little-endian order, as such machines do. A join
 * compares the port with the server before it starts, and refuses to run if they differ.
 *
 * The two halves of a hash are left in `hashHigh()` and `hashLow()` instead of a bigint: a million
 * keys have several million hashes, and this way none of them needs an allocation.
 */

let high = 0;
let low = 0;
let a = 0;
let b = 0;
let c = 0;

/** The upper 32 bits of the last hash, as a signed number. */
export function hashHigh(): number {
  return high;
}

/** The lower 32 bits of the last hash, as a signed number. */
export function hashLow(): number {
  return low;
}

/** The last hash as PostgreSQL prints it: a signed 64-bit number. */
export function hashValue(): bigint {
  return BigInt.asIntN(64, (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0));
}

/** `hashtextextended` and `uuid_hash_extended`: the hash of bytes. A seed of 0 is not mixed in. */
export function hashBytes(bytes: Uint8Array, seedHigh: number, seedLow: number): void {
  const { length } = bytes;
  start(length, seedHigh, seedLow);
  let at = 0;
  for (; length - at >= 12; at += 12) {
    a = (a + word(bytes, at)) | 0;
    b = (b + word(bytes, at + 4)) | 0;
    c = (c + word(bytes, at + 8)) | 0;
    mix();
  }
  // The last bytes. The lowest byte of c is left for the length, which `start` has added already.
  const rest = length - at;
  for (let i = 0; i < rest; i++) {
    const byte = bytes[at + i];
    if (i < 4) a = (a + (byte << (8 * i))) | 0;
    else if (i < 8) b = (b + (byte << (8 * (i - 4)))) | 0;
    else c = (c + (byte << (8 * (i - 7)))) | 0;
  }
  finish();
}

/**
 * `hashint8extended`, which gives the same for equal numbers of type int2, int4 and int8: the upper
 * half is folded into the lower one so that it vanishes for numbers that fit into 32 bits.
 */
export function hashInteger(value: bigint, seedHigh: number, seedLow: number): void {
  const lowHalf = Number(BigInt.asIntN(32, value));
  const highHalf = Number(BigInt.asIntN(32, value >> 32n));
  start(4, seedHigh, seedLow);
  a = (a + (lowHalf ^ (value >= 0n ? highHalf : ~highHalf))) | 0;
  finish();
}

function start(length: number, seedHigh: number, seedLow: number): void {
  a = (0x9e3779b9 + length + 3923095) | 0;
  b = a;
  c = a;
  if (seedHigh === 0 && seedLow === 0) return;
  a = (a + seedHigh) | 0;
  b = (b + seedLow) | 0;
  mix();
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

function mix(): void {
  a = (a - c) ^ rotate(c, 4);
  c = (c + b) | 0;
  b = (b - a) ^ rotate(a, 6);
  a = (a + c) | 0;
  c = (c - b) ^ rotate(b, 8);
  b = (b + a) | 0;
  a = (a - c) ^ rotate(c, 16);
  c = (c + b) | 0;
  b = (b - a) ^ rotate(a, 19);
  a = (a + c) | 0;
  c = (c - b) ^ rotate(b, 4);
  b = (b + a) | 0;
}

function finish(): void {
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  c = ((c ^ b) - rotate(b, 24)) | 0;
  high = b;
  low = c;
}
