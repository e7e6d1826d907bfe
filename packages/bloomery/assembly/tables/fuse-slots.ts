// From a hash to its slots and its fingerprint: explained, and with its twin, in
// src/kernel/tables/fuse.ts. In pieces, because AssemblyScript has no way to return several values;
// all of them are inlined.

// The seed of attempt t.
// @ts-ignore: decorator
@inline
export function tableSeed(attempt: u32): u64 {
  return (<u64>attempt + 1) * 0x9e3779b97f4a7c15;
}

// z.
// @ts-ignore: decorator
@inline
export function mixed(h: u64, seed: u64): u64 {
  const z = (h ^ seed) * 0xbf58476d1ce4e5b9;
  return (z ^ (z >> 32)) * 0x94d049bb133111eb;
}

// u.
// @ts-ignore: decorator
@inline
export function position(h: u64, z: u64, attempt: u32): u64 {
  return <u64>(<u32>(h >> 32) + attempt * <u32>z);
}

// The first slot of the segment; `product` is u * segments.
// @ts-ignore: decorator
@inline
export function firstSlot(product: u64, length: u64): u64 {
  return (product >> 32) * length;
}

// @ts-ignore: decorator
@inline
export function slot0(first: u64, product: u64, length: u64): u64 {
  return first + (((product & 0xffffffff) * length) >> 32);
}

// @ts-ignore: decorator
@inline
export function slot1(first: u64, z: u64, length: u64): u64 {
  return first + length + (((z >> 43) * length) >> 21);
}

// @ts-ignore: decorator
@inline
export function slot2(first: u64, z: u64, length: u64): u64 {
  return first + 2 * length + ((((z >> 22) & 0x1fffff) * length) >> 21);
}

// @ts-ignore: decorator
@inline
export function slot3(first: u64, z: u64, length: u64): u64 {
  return first + 3 * length + ((((z >> 1) & 0x1fffff) * length) >> 21);
}

// @ts-ignore: decorator
@inline
export function fingerprint(z: u64, width: u32): u32 {
  let y = <u32>z + <u32>(z >> 32) * 0x9e3779b1;
  y = (y ^ (y >> 16)) * 0x7feb352d;
  y = (y ^ (y >> 15)) * 0x846ca68b;
  return y >> (32 - width);
}

// 32 bits from the beginning of a slot on. Reads up to 7 bytes past the slot.
// @ts-ignore: decorator
@inline
export function field(table: usize, slot: u64, stride: u64): u32 {
  const bit = slot * stride;
  return <u32>(load<u64>(table + <usize>(bit >> 3)) >> (bit & 7));
}
