// XXH64 (Yann Collet, 2012; specification: xxHash repository, doc/xxhash_spec.md), written from the
// specification. Twin: src/hashing/xxh64.ts.

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
    h = rotl<u64>(a, 1) + rotl<u64>(b, 7) + rotl<u64>(c, 12) + rotl<u64>(d, 18);
    h = mergeRound(h, a);
    h = mergeRound(h, b);
    h = mergeRound(h, c);
    h = mergeRound(h, d);
  }
  h += length;
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
