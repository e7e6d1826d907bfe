// XXH64 (Yann Collet, 2012; specification: xxHash repository, doc/xxhash_spec.md), written from the specification.
// Only 64-bit multiplications: WebAssembly runs them at native speed, which is not true of hashes
// built on 64x64->128 products (three to five times slower here). Twin: src/kernel/xxh64.ts.

const P1: u64 = 0x9e3779b185ebca87;
const P2: u64 = 0xc2b2ae3d27d4eb4f;
const P3: u64 = 0x165667b19e3779f9;
const P4: u64 = 0x85ebca77c2b2ae63;
const P5: u64 = 0x27d4eb2f165667c5;

// @ts-ignore: decorator
@inline
function round(accumulator: u64, input: u64): u64 {
  return rotl<u64>(accumulator + input * P2, 31) * P1;
}

// @ts-ignore: decorator
@inline
function mergeRound(hash: u64, accumulator: u64): u64 {
  return (hash ^ round(0, accumulator)) * P1 + P4;
}

// @ts-ignore: decorator
@inline
function merged(a: u64, b: u64, c: u64, d: u64): u64 {
  const h = rotl<u64>(a, 1) + rotl<u64>(b, 7) + rotl<u64>(c, 12) + rotl<u64>(d, 18);
  return mergeRound(mergeRound(mergeRound(mergeRound(h, a), b), c), d);
}

// What is left after the stripes (less than 32 bytes), and the final mixing.
// @ts-ignore: decorator
@inline
function finish(hash: u64, pointer: usize, end: usize): u64 {
  let h = hash;
  let p = pointer;
  while (p + 8 <= end) {
    h = rotl<u64>(h ^ round(0, load<u64>(p)), 27) * P1 + P4;
    p += 8;
  }
  if (p + 4 <= end) {
    h = rotl<u64>(h ^ ((<u64>load<u32>(p)) * P1), 23) * P2 + P3;
    p += 4;
  }
  while (p < end) {
    h = rotl<u64>(h ^ ((<u64>load<u8>(p)) * P5), 11) * P1;
    p++;
  }
  h ^= h >> 33;
  h *= P2;
  h ^= h >> 29;
  h *= P3;
  return h ^ (h >> 32);
}

// @ts-ignore: decorator
@inline
export function xxh64(pointer: usize, length: u32, seed: u64): u64 {
  let p = pointer;
  const end = p + length;
  let h = seed + P5;
  if (length >= 32) {
    let a = seed + P1 + P2;
    let b = seed + P2;
    let c = seed;
    let d = seed - P1;
    const lastStripe = end - 32;
    do {
      a = round(a, load<u64>(p));
      b = round(b, load<u64>(p, 8));
      c = round(c, load<u64>(p, 16));
      d = round(d, load<u64>(p, 24));
      p += 32;
    } while (p <= lastStripe);
    h = merged(a, b, c, d);
  }
  return finish(h + length, p, end);
}

// Long inputs come in pieces. The four accumulators wait at STATE between the calls.
const STATE: usize = 64;

export function streamStart(seedLow: u32, seedHigh: u32): void {
  const seed = ((<u64>seedHigh) << 32) | seedLow;
  store<u64>(STATE, seed + P1 + P2);
  store<u64>(STATE, seed + P2, 8);
  store<u64>(STATE, seed, 16);
  store<u64>(STATE, seed - P1, 24);
}

// `length` is a positive multiple of 32.
export function streamStripes(pointer: usize, length: u32): void {
  let a = load<u64>(STATE);
  let b = load<u64>(STATE, 8);
  let c = load<u64>(STATE, 16);
  let d = load<u64>(STATE, 24);
  const end = pointer + length;
  for (let p = pointer; p < end; p += 32) {
    a = round(a, load<u64>(p));
    b = round(b, load<u64>(p, 8));
    c = round(c, load<u64>(p, 16));
    d = round(d, load<u64>(p, 24));
  }
  store<u64>(STATE, a);
  store<u64>(STATE, b, 8);
  store<u64>(STATE, c, 16);
  store<u64>(STATE, d, 24);
}

// The last `tail` bytes (less than 32) of `total` ones, of which at least 32 went through streamStripes.
export function streamFinish(pointer: usize, tail: u32, total: f64): u64 {
  const h = merged(load<u64>(STATE), load<u64>(STATE, 8), load<u64>(STATE, 16), load<u64>(STATE, 24));
  return finish(h + <u64>total, pointer, pointer + tail);
}
