// Forge64, the library's own hash. Why, how it works and how it was tested: src/hashing/forge64.ts,
// its twin.

const K0: u64 = 0x9e3779b97f4a7c15;
const K1: u64 = 0xbf58476d1ce4e5b9;
const K2: u64 = 0x94d049bb133111eb;
const K3: u64 = 0xd6e8feb86659fd93;
const K4: u64 = 0xff51afd7ed558ccd;
const K5: u64 = 0xc4ceb9fe1a85ec53;

// @ts-ignore: decorator
@inline
function finish(a: u64, b: u64): u64 {
  let h = a ^ (b * K3);
  h ^= h >> 32;
  h *= K4;
  h ^= h >> 29;
  h *= K5;
  return h ^ (h >> 32);
}

// The block step appears three times below, because AssemblyScript has no way to return two values
// from a function.

// Reads up to 16 bytes past the end of the key.
// @ts-ignore: decorator
@inline
export function forge64(pointer: usize, length: u32, seed: u64): u64 {
  let a = seed ^ K0;
  let b = rotl<u64>(seed, 32) ^ ((<u64>length) * K3);
  let p = pointer;
  let left = length;
  while (left > 16) {
    const w1 = load<u64>(p, 8);
    const u = load<u64>(p) ^ rotl<u64>(w1, 32);
    a = (a ^ u) * K1;
    b = (b ^ w1 ^ rotl<u64>(u, 21)) * K2;
    a ^= a >> 32;
    b ^= b >> 32;
    a += rotl<u64>(b, 17);
    b ^= rotl<u64>(a, 41);
    p += 16;
    left -= 16;
  }
  // The last 16 bytes or fewer, the rest of them zero: one mask instead of a branch for every
  // length.
  const kept = i8x16.lt_u(i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), i8x16.splat(<i8>left));
  const tail = v128.and(v128.load(p), kept);
  const w1 = <u64>i64x2.extract_lane(tail, 1);
  const u = <u64>i64x2.extract_lane(tail, 0) ^ rotl<u64>(w1, 32);
  a = (a ^ u) * K1;
  b = (b ^ w1 ^ rotl<u64>(u, 21)) * K2;
  a ^= a >> 32;
  b ^= b >> 32;
  a += rotl<u64>(b, 17);
  b ^= rotl<u64>(a, 41);
  return finish(a ^ seed, b);
}

// Long inputs come in pieces. The two lanes, and the seed, wait at STATE between the calls.
const STATE: usize = 64;

export function streamStart(seedLow: u32, seedHigh: u32, total: f64): void {
  const seed = ((<u64>seedHigh) << 32) | seedLow;
  store<u64>(STATE, seed ^ K0);
  store<u64>(STATE, rotl<u64>(seed, 32) ^ ((<u64>total) * K3), 8);
  store<u64>(STATE, seed, 16);
}

// `length` is a multiple of 16, and these are not the last bytes.
export function streamBlocks(pointer: usize, length: u32): void {
  let a = load<u64>(STATE);
  let b = load<u64>(STATE, 8);
  const end = pointer + length;
  for (let p = pointer; p < end; p += 16) {
    const w1 = load<u64>(p, 8);
    const u = load<u64>(p) ^ rotl<u64>(w1, 32);
    a = (a ^ u) * K1;
    b = (b ^ w1 ^ rotl<u64>(u, 21)) * K2;
    a ^= a >> 32;
    b ^= b >> 32;
    a += rotl<u64>(b, 17);
    b ^= rotl<u64>(a, 41);
  }
  store<u64>(STATE, a);
  store<u64>(STATE, b, 8);
}

// After a last call of streamBlocks with the final 16 bytes or fewer, filled up with zeros.
export function streamHash(): u64 {
  return finish(load<u64>(STATE) ^ load<u64>(STATE, 16), load<u64>(STATE, 8));
}
