// The band of a small StaticFilter: lookups. Rows, fingerprints and planes are explained, and have
// their twin, in src/kernel/tables/band.ts. The kernel reserves 16 bytes after every table, because
// a window is read with up to 9 bytes beyond it.

import { fingerprint, mixed, tableSeed } from './fuse-slots';

const OUTSIDE: i64 = 32;

// @ts-ignore: decorator
@inline
function mix(x: u32): u64 {
  let y = (x ^ (x >> 16)) * 0x7feb352d;
  y = (y ^ (y >> 15)) * 0x846ca68b;
  return <u64>(y ^ (y >> 16));
}

// 0 if the answer is 0, otherwise 1.
// @ts-ignore: decorator
@inline
function answer(h: u64, table: usize, columns: u32, seed: u64, width: u32): u32 {
  const z = mixed(h, seed);
  const low = <u32>z;
  const high = <u32>(z >> 32);
  const last: i64 = columns > 64 ? <i64>columns - 64 : 0;
  let start: i64 = <i64>((<u64>high * <u64>(last + 2 * OUTSIDE + 1)) >> 32) - OUTSIDE;
  if (start < 0) start = 0;
  if (start > last) start = last;
  let row = mix(low + high * 0x85ebca6b) | (mix(low + high * 0xc2b2ae35) << 32);
  if (columns < 64) row &= ((<u64>1) << columns) - 1;
  const expected = fingerprint(z, width);
  let bit = <u64>start;
  for (let j: u32 = 0; j < width; j++) {
    const p = table + <usize>(bit >> 3);
    const shift = bit & 7;
    const window = (load<u64>(p) >> shift) | ((<u64>load<u8>(p, 8) << 1) << (63 - shift));
    if (((<u32>popcnt<u64>(window & row) ^ (expected >> j)) & 1) != 0) return 1;
    bit += columns;
  }
  return 0;
}

// The kernel's own: it returns the lower half of the hash and leaves the upper one at HIGH_WORD.
@external('env', 'hashOne')
declare function hashOne(pointer: usize, length: u32, code: u32, seedLow: u32, seedHigh: u32): u32;
const HIGH_WORD: usize = 16;
const FORGE64: u32 = 1;

// The answer for one key, hashed here.
export function bandKey(
  pointer: usize, bytes: u32, seedLow: u32, seedHigh: u32, table: usize, columns: u32, attempt: u32, width: u32,
): u32 {
  const low = hashOne(pointer, bytes, FORGE64, seedLow, seedHigh);
  return bandOne(low, load<u32>(HIGH_WORD), table, columns, attempt, width);
}

// The answer for one key, by the halves of its hash.
export function bandOne(low: u32, high: u32, table: usize, columns: u32, attempt: u32, width: u32): u32 {
  return answer((<u64>high << 32) | low, table, columns, tableSeed(attempt), width);
}

// One byte a key: 1 if the answer is 0.
export function bandHas(
  hashes: usize, count: u32, table: usize, columns: u32, attempt: u32, width: u32, results: usize,
): void {
  const seed = tableSeed(attempt);
  for (let i: u32 = 0; i < count; i++) {
    store<u8>(results + i, <u8>(answer(load<u64>(hashes + (i << 3)), table, columns, seed, width) ^ 1));
  }
}
