// Probes of the blocked layout (512-bit blocks) and of Parquet's split-block layout. The derivation
// is explained, and has its twin, in src/kernel/bits/blocked.ts.

import { hashKey } from '../hashing/hash-keys';
import { xxh64 } from '../hashing/xxh64';

const MULTIPLIER: u64 = 0x9e3779b97f4a7c15;
const GROUP: u32 = 64; // keys whose blocks are touched ahead; 16 and 512 were slower

// @ts-ignore: decorator
@inline
function blockAddress(filter: usize, h: u64, blocks: u64, shift: usize): usize {
  return filter + ((<usize>(((h >> 32) * blocks) >> 32)) << shift);
}

// WebAssembly has no prefetch instruction: reading one word of each block of a group before the
// probes lets the processor fetch the lines side by side. The sum is stored so that the reads are
// not optimised away.
// @ts-ignore: decorator
@inline
function touch(hashes: usize, from: u32, to: u32, filter: usize, blocks: u64, shift: usize): void {
  let sum: u32 = 0;
  for (let j = from; j < to; j++) {
    sum += load<u32>(blockAddress(filter, load<u64>(hashes + (j << 3)), blocks, shift));
  }
  store<u32>(0, sum);
}

// @ts-ignore: decorator
@inline
function test(block: usize, word: u64, shift: u64): u32 {
  // Bits 5 to 8 of the probe choose the word: shifted two places less, they are its offset in
  // bytes.
  return load<u32>(block + (<usize>(word >> (shift + 3)) & 60)) >> <u32>(word >> shift);
}

// @ts-ignore: decorator
@inline
function set(block: usize, word: u64, shift: u64): u32 {
  const p = block + (<usize>(word >> (shift + 3)) & 60);
  const old = load<u32>(p);
  store<u32>(p, old | (1 << <u32>(word >> shift)));
  return old >> <u32>(word >> shift);
}

// 1 if all k bits of the hash are set in the block, else 0.
// @ts-ignore: decorator
@inline
function hasInBlock(block: usize, h: u64, k: u32): u32 {
  let v = (h ^ (h >> 32)) * MULTIPLIER;
  let r: u32 = 1;
  let left = k;
  while (left >= 6) {
    r &= test(block, v, 55) & test(block, v, 46) & test(block, v, 37);
    r &= test(block, v, 23) & test(block, v, 14) & test(block, v, 5);
    v = (v ^ (v >> 32)) * MULTIPLIER;
    left -= 6;
  }
  if (left > 0) {
    r &= test(block, v, 55);
    if (left > 1) r &= test(block, v, 46);
    if (left > 2) r &= test(block, v, 37);
    if (left > 3) r &= test(block, v, 23);
    if (left > 4) r &= test(block, v, 14);
  }
  return r;
}

export function blockedHas(
  hashes: usize, count: u32, filter: usize, blockCount: u32, k: u32, results: usize,
): u32 {
  const blocks = <u64>blockCount;
  // Half a mebibyte: beyond that the second-level cache no longer hides it.
  const ahead = blockCount > 8192;
  let found: u32 = 0;
  for (let group: u32 = 0; group < count; group += GROUP) {
    const end = min<u32>(count, group + GROUP);
    if (ahead) touch(hashes, group, end, filter, blocks, 6);
    for (let j = group; j < end; j++) {
      const h = load<u64>(hashes + (j << 3));
      const block = blockAddress(filter, h, blocks, 6);
      const r = hasInBlock(block, h, k);
      store<u8>(results + j, <u8>r);
      found += r;
    }
  }
  return found;
}

export function blockedAdd(hashes: usize, count: u32, filter: usize, blockCount: u32, k: u32): u32 {
  const blocks = <u64>blockCount;
  const ahead = blockCount > 8192;
  let fresh: u32 = 0;
  for (let group: u32 = 0; group < count; group += GROUP) {
    const end = min<u32>(count, group + GROUP);
    if (ahead) touch(hashes, group, end, filter, blocks, 6);
    for (let j = group; j < end; j++) {
      const h = load<u64>(hashes + (j << 3));
      const block = blockAddress(filter, h, blocks, 6);
      let v = (h ^ (h >> 32)) * MULTIPLIER;
      let known: u32 = 1;
      let left = k;
      while (left >= 6) {
        known &= set(block, v, 55) & set(block, v, 46) & set(block, v, 37);
        known &= set(block, v, 23) & set(block, v, 14) & set(block, v, 5);
        v = (v ^ (v >> 32)) * MULTIPLIER;
        left -= 6;
      }
      if (left > 0) {
        known &= set(block, v, 55);
        if (left > 1) known &= set(block, v, 46);
        if (left > 2) known &= set(block, v, 37);
        if (left > 3) known &= set(block, v, 23);
        if (left > 4) known &= set(block, v, 14);
      }
      fresh += (known & 1) ^ 1;
    }
  }
  return fresh;
}

// One bit in each of eight 32-bit words. WebAssembly cannot shift lanes by different amounts; the
// masks come from a byte table instead: byte b of a lane is 1 << (n - 8b) where that lies in 0..7,
// else 0, and swizzle answers 0 for every index that is out of range.
// @ts-ignore: decorator
@inline
function laneMask(low: u32, saltA: u32, saltB: u32, saltC: u32, saltD: u32): v128 {
  const n = i32x4.shr_u(i32x4.mul(i32x4.splat(low), i32x4(saltA, saltB, saltC, saltD)), 27);
  const bytes = i8x16.shuffle(n, n, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
  const index = i8x16.sub(bytes, i8x16(0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24));
  return i8x16.swizzle(i8x16(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0), index);
}

// @ts-ignore: decorator
@inline
function hasInSplitBlock(block: usize, h: u64): u32 {
  const low = laneMask(<u32>h, 0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d);
  const high = laneMask(<u32>h, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31);
  const missing = v128.or(
    v128.andnot(low, v128.load(block)),
    v128.andnot(high, v128.load(block, 16)),
  );
  return <u32>!v128.any_true(missing);
}

export function splitBlockHas(hashes: usize, count: u32, filter: usize, blockCount: u32, results: usize): u32 {
  const blocks = <u64>blockCount;
  const ahead = blockCount > 16384;
  let found: u32 = 0;
  for (let group: u32 = 0; group < count; group += GROUP) {
    const end = min<u32>(count, group + GROUP);
    if (ahead) touch(hashes, group, end, filter, blocks, 5);
    for (let j = group; j < end; j++) {
      const h = load<u64>(hashes + (j << 3));
      const block = blockAddress(filter, h, blocks, 5);
      const r = hasInSplitBlock(block, h);
      store<u8>(results + j, <u8>r);
      found += r;
    }
  }
  return found;
}

export function splitBlockAdd(hashes: usize, count: u32, filter: usize, blockCount: u32): u32 {
  const blocks = <u64>blockCount;
  const ahead = blockCount > 16384;
  let fresh: u32 = 0;
  for (let group: u32 = 0; group < count; group += GROUP) {
    const end = min<u32>(count, group + GROUP);
    if (ahead) touch(hashes, group, end, filter, blocks, 5);
    for (let j = group; j < end; j++) {
      const h = load<u64>(hashes + (j << 3));
      const block = blockAddress(filter, h, blocks, 5);
      const low = laneMask(<u32>h, 0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d);
      const high = laneMask(<u32>h, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31);
      const oldLow = v128.load(block);
      const oldHigh = v128.load(block, 16);
      const missing = v128.or(v128.andnot(low, oldLow), v128.andnot(high, oldHigh));
      fresh += <u32>v128.any_true(missing);
      v128.store(block, v128.or(low, oldLow));
      v128.store(block, v128.or(high, oldHigh), 16);
    }
  }
  return fresh;
}

// One key, hashed and looked up in one call: the key by key path of a filter that lives here.

export function blockedHasOne(
  pointer: usize, length: u32, seedLow: u32, seedHigh: u32, filter: usize, blockCount: u32, k: u32,
): u32 {
  const h = hashKey(pointer, length, seedLow, seedHigh);
  return hasInBlock(blockAddress(filter, h, blockCount, 6), h, k);
}

export function splitBlockHasOne(pointer: usize, length: u32, filter: usize, blockCount: u32): u32 {
  const h = xxh64(pointer, length, 0);
  return hasInSplitBlock(blockAddress(filter, h, blockCount, 5), h);
}
