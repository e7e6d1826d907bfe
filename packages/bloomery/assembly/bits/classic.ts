// Probes of the classic and of the partitioned layout. The derivation of the indices is explained,
// and has its twin, in src/kernel/bits/classic.ts.

import { hashKey } from '../hashing/hash-keys';
import { probeIndex } from './probe-index';

// @ts-ignore: decorator
@inline
function test(filter: usize, bit: u64): u32 {
  return <u32>load<u8>(filter + <usize>(bit >> 3)) >> (<u32>bit & 7);
}

// `range` is m and `stride` 0 for the classic layout; m/k and m/k for the partitioned one.
export function classicHas(
  hashes: usize, count: u32, filter: usize, range: f64, stride: f64, k: u32, results: usize,
): u32 {
  const m = <u64>range;
  const step = <u64>stride;
  // In cache, testing all k bits without a branch is twice as fast on misses as leaving early (no
  // mispredictions); out of cache, each probe saved is a memory access saved.
  const inCache = m + step * k <= 1 << 24;
  let found: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const a = load<u32>(hashes + (j << 3));
    const b = load<u32>(hashes + (j << 3), 4);
    let r: u32 = 1;
    let offset: u64 = 0;
    if (inCache) {
      for (let i: u32 = 0; i < k; i++) {
        r &= test(filter, offset + probeIndex(a, b, i, m));
        offset += step;
      }
    } else {
      for (let i: u32 = 0; i < k && r != 0; i++) {
        r &= test(filter, offset + probeIndex(a, b, i, m));
        offset += step;
      }
    }
    store<u8>(results + j, <u8>r);
    found += r;
  }
  return found;
}

// Returns how many of the keys changed at least one bit.
export function classicAdd(hashes: usize, count: u32, filter: usize, range: f64, stride: f64, k: u32): u32 {
  const m = <u64>range;
  const step = <u64>stride;
  let fresh: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const a = load<u32>(hashes + (j << 3));
    const b = load<u32>(hashes + (j << 3), 4);
    let known: u32 = 1;
    let offset: u64 = 0;
    for (let i: u32 = 0; i < k; i++) {
      const bit = offset + probeIndex(a, b, i, m);
      const p = filter + <usize>(bit >> 3);
      const old = <u32>load<u8>(p);
      known &= old >> (<u32>bit & 7);
      store<u8>(p, <u8>(old | (1 << (<u32>bit & 7))));
      offset += step;
    }
    fresh += known ^ 1;
  }
  return fresh;
}

// One key, hashed and looked up in one call.
export function classicHasOne(
  pointer: usize, length: u32, seedLow: u32, seedHigh: u32, filter: usize, range: f64, stride: f64, k: u32,
): u32 {
  const h = hashKey(pointer, length, seedLow, seedHigh);
  const m = <u64>range;
  const step = <u64>stride;
  let offset: u64 = 0;
  for (let i: u32 = 0; i < k; i++) {
    if ((test(filter, offset + probeIndex(<u32>h, <u32>(h >> 32), i, m)) & 1) == 0) return 0;
    offset += step;
  }
  return 1;
}
