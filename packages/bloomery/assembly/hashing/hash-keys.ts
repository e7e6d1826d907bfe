// From bytes to 64-bit hashes, one key or a chunk of keys at a time. Everything works on linear
// memory that the caller has filled; src/kernel/wasm/wasm-kernel.ts draws the map of it.

import { forge64, streamHash } from './forge64';
import { sipHash24 } from './siphash';
import { xxh64 } from './xxh64';

export { streamBlocks, streamStart } from './forge64';

const FORGE64: u32 = 1;
const XXH64: u32 = 3;
// Where a one-key call leaves the upper 32 bits; it returns the lower ones.
const HIGH_WORD: usize = 16;
const SIP_KEY: usize = 32; // 16 bytes, written before each keyed call and wiped after it

// @ts-ignore: decorator
@inline
function join(low: u32, high: u32): u64 {
  return ((<u64>high) << 32) | low;
}

// @ts-ignore: decorator
@inline
function leave(h: u64): u32 {
  store<u32>(HIGH_WORD, <u32>(h >> 32));
  return <u32>h;
}

// Not inlined: several callers, and a call costs little beside the hash.
export function hashKey(pointer: usize, length: u32, seedLow: u32, seedHigh: u32): u64 {
  return forge64(pointer, length, join(seedLow, seedHigh));
}

// The other hashes, by their numbers in frames. SipHash takes its key from memory.
function hashOther(pointer: usize, length: u32, code: u32, seed: u64): u64 {
  if (code == XXH64) return xxh64(pointer, length, seed);
  return sipHash24(pointer, length, load<u64>(SIP_KEY), load<u64>(SIP_KEY, 8));
}

export function hashOne(pointer: usize, length: u32, code: u32, seedLow: u32, seedHigh: u32): u32 {
  if (code == FORGE64) return leave(hashKey(pointer, length, seedLow, seedHigh));
  return leave(hashOther(pointer, length, code, join(seedLow, seedHigh)));
}

export function streamEnd(): u32 {
  return leave(streamHash());
}

// Key i is the bytes from bounds[i] up to bounds[i + 1] - gap, counted from `base`: gap 0 for
// packed keys, 1 for lines, whose terminator does not belong to the key.

export function hashSpans(
  base: usize, bounds: usize, count: u32, gap: u32, hashes: usize, code: u32, seedLow: u32, seedHigh: u32,
): void {
  const seed = join(seedLow, seedHigh);
  let start = load<u32>(bounds);
  for (let i: u32 = 0; i < count; i++) {
    const next = load<u32>(bounds + ((i + 1) << 2));
    // The branch goes the same way for all keys of a call, so the processor predicts it.
    const pointer = base + start;
    const length = next - gap - start;
    const h = code == FORGE64 ? forge64(pointer, length, seed) : hashOther(pointer, length, code, seed);
    store<u64>(hashes + (i << 3), h);
    start = next;
  }
}

// Whether none of the count + 1 bounds is smaller than the one before it.
export function boundsRise(bounds: usize, count: u32): bool {
  let falls = i32x4.splat(0);
  let i: u32 = 0;
  for (; i + 4 <= count; i += 4) {
    const p = bounds + (i << 2);
    falls = v128.or(falls, i32x4.gt_u(v128.load(p), v128.load(p, 4)));
  }
  let fall = v128.any_true(falls);
  for (; i < count; i++) {
    const p = bounds + (i << 2);
    fall = fall || load<u32>(p) > load<u32>(p, 4);
  }
  return !fall;
}

// Writes bounds[0] = 0 and, for each newline among the first `length` bytes, the position after it.
// Stops after `limit` lines; returns how many lines ended. Reads up to 31 bytes past the end.
export function splitLines(base: usize, length: u32, limit: u32, bounds: usize): u32 {
  store<u32>(bounds, 0);
  const newline = i8x16.splat(10);
  let count: u32 = 0;
  for (let at: u32 = 0; at < length; at += 32) {
    const low = i8x16.bitmask(i8x16.eq(v128.load(base + at), newline));
    const high = i8x16.bitmask(i8x16.eq(v128.load(base + at, 16), newline));
    let mask = low | (high << 16);
    while (mask != 0) {
      const position = at + ctz<i32>(mask);
      if (position >= length) return count;
      count++;
      store<u32>(bounds + (count << 2), position + 1);
      if (count == limit) return count;
      mask &= mask - 1;
    }
  }
  return count;
}
