// The bit of a gram, and setting it. The hash is explained in src/text/gram-scheme.ts.

const BITS: usize = 65536;

export const GRAM_SEED: u32 = 1;
export const EXTRA_SEED: u32 = 0x5bd1e995;

// @ts-ignore: decorator
@inline
export function gramBit(last: u32, before: u32, seed: u32, shift: u32): u32 {
  let h = last ^ ((before + seed) * 0x85ebca6b);
  h = (h ^ (h >> 16)) * 0x9e3779b1;
  h = (h ^ (h >> 15)) * 0xc2b2ae35;
  return h >> shift;
}

// Sets a bit; returns 1 if it was not set before.
// @ts-ignore: decorator
@inline
export function setBit(bit: u32): u32 {
  const p = BITS + <usize>(bit >> 5 << 2);
  const old = load<u32>(p);
  store<u32>(p, old | (<u32>1 << (bit & 31)));
  return (old >> (bit & 31) & 1) ^ 1;
}
