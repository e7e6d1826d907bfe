// SipHash-1-3 of a key of whole 64-bit words (Aumasson, Bernstein 2012; the variant with one round
// a word and three at the end). Why this hash: src/flows/kernel/siphash.ts, its twin.
//
// The state is in locals, because a helper for the round would need globals, which are memory.

export function sipHash(pointer: usize, words: u32, k0: u64, k1: u64): u64 {
  let v0: u64 = k0 ^ 0x736f6d6570736575;
  let v1: u64 = k1 ^ 0x646f72616e646f6d;
  let v2: u64 = k0 ^ 0x6c7967656e657261;
  let v3: u64 = k1 ^ 0x7465646279746573;
  const end = pointer + (<usize>words << 3);
  for (let p = pointer; p <= end; p += 8) {
    // The last block holds the length and no bytes, because keys are whole words.
    const word = p == end ? (<u64>words << 3) << 56 : load<u64>(p);
    v3 ^= word;
    v0 += v1;
    v1 = rotl<u64>(v1, 13) ^ v0;
    v0 = rotl<u64>(v0, 32);
    v2 += v3;
    v3 = rotl<u64>(v3, 16) ^ v2;
    v0 += v3;
    v3 = rotl<u64>(v3, 21) ^ v0;
    v2 += v1;
    v1 = rotl<u64>(v1, 17) ^ v2;
    v2 = rotl<u64>(v2, 32);
    v0 ^= word;
  }
  v2 ^= 0xff;
  for (let rounds = 0; rounds < 3; rounds++) {
    v0 += v1;
    v1 = rotl<u64>(v1, 13) ^ v0;
    v0 = rotl<u64>(v0, 32);
    v2 += v3;
    v3 = rotl<u64>(v3, 16) ^ v2;
    v0 += v3;
    v3 = rotl<u64>(v3, 21) ^ v0;
    v2 += v1;
    v1 = rotl<u64>(v1, 17) ^ v2;
    v2 = rotl<u64>(v2, 32);
  }
  return v0 ^ v1 ^ v2 ^ v3;
}

// The same for a key of two words, which all keys of IPv4 are, without the loop.
// @ts-ignore: decorator
@inline
export function sipHashPair(pointer: usize, k0: u64, k1: u64): u64 {
  let v0: u64 = k0 ^ 0x736f6d6570736575;
  let v1: u64 = k1 ^ 0x646f72616e646f6d;
  let v2: u64 = k0 ^ 0x6c7967656e657261;
  let v3: u64 = k1 ^ 0x7465646279746573;
  const first = load<u64>(pointer);
  const second = load<u64>(pointer, 8);
  const last: u64 = (<u64>16) << 56;
  v3 ^= first;
  v0 += v1;
  v1 = rotl<u64>(v1, 13) ^ v0;
  v0 = rotl<u64>(v0, 32);
  v2 += v3;
  v3 = rotl<u64>(v3, 16) ^ v2;
  v0 += v3;
  v3 = rotl<u64>(v3, 21) ^ v0;
  v2 += v1;
  v1 = rotl<u64>(v1, 17) ^ v2;
  v2 = rotl<u64>(v2, 32);
  v0 ^= first;
  v3 ^= second;
  v0 += v1;
  v1 = rotl<u64>(v1, 13) ^ v0;
  v0 = rotl<u64>(v0, 32);
  v2 += v3;
  v3 = rotl<u64>(v3, 16) ^ v2;
  v0 += v3;
  v3 = rotl<u64>(v3, 21) ^ v0;
  v2 += v1;
  v1 = rotl<u64>(v1, 17) ^ v2;
  v2 = rotl<u64>(v2, 32);
  v0 ^= second;
  v3 ^= last;
  v0 += v1;
  v1 = rotl<u64>(v1, 13) ^ v0;
  v0 = rotl<u64>(v0, 32);
  v2 += v3;
  v3 = rotl<u64>(v3, 16) ^ v2;
  v0 += v3;
  v3 = rotl<u64>(v3, 21) ^ v0;
  v2 += v1;
  v1 = rotl<u64>(v1, 17) ^ v2;
  v2 = rotl<u64>(v2, 32);
  v0 ^= last;
  v2 ^= 0xff;
  v0 += v1;
  v1 = rotl<u64>(v1, 13) ^ v0;
  v0 = rotl<u64>(v0, 32);
  v2 += v3;
  v3 = rotl<u64>(v3, 16) ^ v2;
  v0 += v3;
  v3 = rotl<u64>(v3, 21) ^ v0;
  v2 += v1;
  v1 = rotl<u64>(v1, 17) ^ v2;
  v2 = rotl<u64>(v2, 32);
  v0 += v1;
  v1 = rotl<u64>(v1, 13) ^ v0;
  v0 = rotl<u64>(v0, 32);
  v2 += v3;
  v3 = rotl<u64>(v3, 16) ^ v2;
  v0 += v3;
  v3 = rotl<u64>(v3, 21) ^ v0;
  v2 += v1;
  v1 = rotl<u64>(v1, 17) ^ v2;
  v2 = rotl<u64>(v2, 32);
  v0 += v1;
  v1 = rotl<u64>(v1, 13) ^ v0;
  v0 = rotl<u64>(v0, 32);
  v2 += v3;
  v3 = rotl<u64>(v3, 16) ^ v2;
  v0 += v3;
  v3 = rotl<u64>(v3, 21) ^ v0;
  v2 += v1;
  v1 = rotl<u64>(v1, 17) ^ v2;
  v2 = rotl<u64>(v2, 32);
  return v0 ^ v1 ^ v2 ^ v3;
}
