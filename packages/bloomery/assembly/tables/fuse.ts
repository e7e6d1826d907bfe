// The binary fuse table of StaticFilter and BloomierFilter: lookups. Slots, fingerprints and fields
// are explained, and have their twin, in src/kernel/tables/fuse.ts. Construction: ./fuse-build.ts.

import { field, firstSlot, fingerprint, mixed, position, slot0, slot1, slot2, slot3, tableSeed } from './fuse-slots';

// @ts-ignore: decorator
@inline
function answer(h: u64, table: usize, length: u64, segments: u64, attempt: u32, seed: u64, stride: u64, width: u32): u32 {
  const z = mixed(h, seed);
  const product = position(h, z, attempt) * segments;
  const first = firstSlot(product, length);
  const slots =
    field(table, slot0(first, product, length), stride) ^
    field(table, slot1(first, z, length), stride) ^
    field(table, slot2(first, z, length), stride) ^
    field(table, slot3(first, z, length), stride);
  return ((slots << (32 - width)) >> (32 - width)) ^ fingerprint(z, width);
}

// The kernel's own: it returns the lower half of the hash and leaves the upper one at HIGH_WORD.
@external('env', 'hashOne')
declare function hashOne(pointer: usize, length: u32, code: u32, seedLow: u32, seedHigh: u32): u32;
const HIGH_WORD: usize = 16;
const FORGE64: u32 = 1;

// The answer for one key, hashed here.
export function fuseKey(
  pointer: usize, bytes: u32, seedLow: u32, seedHigh: u32,
  table: usize, length: u32, segments: u32, attempt: u32, stride: u32, width: u32,
): u32 {
  const low = hashOne(pointer, bytes, FORGE64, seedLow, seedHigh);
  return fuseOne(low, load<u32>(HIGH_WORD), table, length, segments, attempt, stride, width);
}

// The answer for one key, by the halves of its hash.
export function fuseOne(
  low: u32, high: u32, table: usize, length: u32, segments: u32, attempt: u32, stride: u32, width: u32,
): u32 {
  const h = (<u64>high << 32) | low;
  return answer(h, table, length, segments, attempt, tableSeed(attempt), stride, width);
}

// One byte a key: 1 if the upper bits of the answer, without the lowest `spare` ones, are 0.
export function fuseHas(
  hashes: usize, count: u32, table: usize, length: u32, segments: u32, attempt: u32, stride: u32, width: u32,
  spare: u32, results: usize,
): void {
  const seed = tableSeed(attempt);
  for (let i: u32 = 0; i < count; i++) {
    const found = answer(load<u64>(hashes + (i << 3)), table, length, segments, attempt, seed, stride, width);
    store<u8>(results + i, <u8>(found >> spare == 0));
  }
}

// Where the value of a key is, in bits: the second field of the slot that the answer names.
// @ts-ignore: decorator
@inline
function valueBit(h: u64, found: u32, length: u64, segments: u64, attempt: u32, seed: u64, stride: u64, width: u32): u64 {
  const z = mixed(h, seed);
  const product = position(h, z, attempt) * segments;
  const first = firstSlot(product, length);
  let slot = slot0(first, product, length);
  if (found == 1) slot = slot1(first, z, length);
  if (found == 2) slot = slot2(first, z, length);
  if (found == 3) slot = slot3(first, z, length);
  return slot * stride + width;
}

// One double a key: its value, NaN if the answer's check bits are not 0.
export function fuseGet(
  hashes: usize, count: u32, table: usize, length: u32, segments: u32, attempt: u32, stride: u32, width: u32,
  values: usize,
): void {
  const seed = tableSeed(attempt);
  const unused = 32 - (stride - width);
  for (let i: u32 = 0; i < count; i++) {
    const h = load<u64>(hashes + (i << 3));
    const found = answer(h, table, length, segments, attempt, seed, stride, width);
    let value = NaN;
    if (found < 4) {
      const bit = valueBit(h, found, length, segments, attempt, seed, stride, width);
      const field = <u32>(load<u64>(table + <usize>(bit >> 3)) >> (bit & 7));
      value = <f64>((field << unused) >> unused);
    }
    store<f64>(values + (i << 3), value);
  }
}

// Replaces the values of the keys that have one.
export function fuseSet(
  hashes: usize, count: u32, table: usize, length: u32, segments: u32, attempt: u32, stride: u32, width: u32,
  values: usize,
): void {
  const seed = tableSeed(attempt);
  const mask: u64 = ((<u64>1) << (stride - width)) - 1;
  for (let i: u32 = 0; i < count; i++) {
    const h = load<u64>(hashes + (i << 3));
    const found = answer(h, table, length, segments, attempt, seed, stride, width);
    if (found >= 4) continue;
    const bit = valueBit(h, found, length, segments, attempt, seed, stride, width);
    const shift = bit & 7;
    const p = table + <usize>(bit >> 3);
    store<u64>(p, (load<u64>(p) & ~(mask << shift)) | (<u64>load<f64>(values + (i << 3)) << shift));
  }
}
