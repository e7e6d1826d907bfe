// From 64 bits of hash to the index of probe i: explained, and with its twin, in
// src/kernel/bits/classic.ts. Exact for ranges up to 2^32, which is more than fits into WebAssembly
// memory as bits; the twin is exact to 2^36.

// @ts-ignore: decorator
@inline
function mix(z: u32): u32 {
  z ^= z >> 16;
  z *= 0x7feb352d;
  z ^= z >> 15;
  return z * 0x846ca68b;
}

// @ts-ignore: decorator
@inline
export function probeIndex(a: u32, b: u32, i: u32, range: u64): u64 {
  const x = <u64>mix(a + i * b);
  const y = <u64>((b + 2 * i * a) >> 16);
  return (x * range + ((y * range) >> 16)) >> 32;
}
