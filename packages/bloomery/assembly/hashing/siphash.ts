// SipHash-2-4 (Aumasson, Bernstein 2012): the keyed hash for keys that an adversary may choose.
// Additions, rotations and exclusive ors only. Twin: src/hashing/siphash.ts. The state lives in
// locals (a helper function for the round would need globals, which are memory), hence one long
// function.

export function sipHash24(pointer: usize, length: u32, k0: u64, k1: u64): u64 {
  let v0: u64 = k0 ^ 0x736f6d6570736575;
  let v1: u64 = k1 ^ 0x646f72616e646f6d;
  let v2: u64 = k0 ^ 0x6c7967656e657261;
  let v3: u64 = k1 ^ 0x7465646279746573;
  const tail = length & 7;
  const end = pointer + length - tail;
  let last: u64 = (<u64>length) << 56;
  for (let i: u32 = 0; i < tail; i++) last |= (<u64>load<u8>(end + i)) << (<u64>i << 3);

  let p = pointer;
  let word: u64 = 0;
  // Two rounds for each word and for the last one, then four to finish.
  for (let words = (length >> 3) + 2; words > 0; words--) {
    let rounds = 2;
    if (words > 2) {
      word = load<u64>(p);
      p += 8;
    } else if (words == 2) {
      word = last;
    } else {
      word = 0;
      v2 ^= 0xff;
      rounds = 4;
    }
    v3 ^= word;
    do {
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
    } while (--rounds > 0);
    v0 ^= word;
  }
  return v0 ^ v1 ^ v2 ^ v3;
}
