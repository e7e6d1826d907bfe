// The loops of the counting filter. What they do, and why in this order, is explained, and has its
// twin, in src/kernel/counters/counting.ts. A counter is reached through the two bytes at its even
// address: 2, 4, 8 and 16 bits never cross them.

import { probeIndex } from '../bits/probe-index';

const SCRATCH: usize = 9216; // a key's indices, then its counters: 255 of 8 bytes, 255 of 4

const OLDS: usize = SCRATCH + 256 * 8;

// @ts-ignore: decorator
@inline
function counter(filter: usize, bit: u64, most: u32): u32 {
  return (<u32>load<u16>(filter + ((<usize>(bit >> 4)) << 1)) >> (<u32>bit & 15)) & most;
}

// Each loop exists for a chunk of hashes and, as `…One`, for a single one. `last` is where the
// answers go, or the address of the change bits (0 if nothing is tracked).

export function countingHas(
  hashes: usize, count: u32, filter: usize, range: f64, stride: f64, k: u32, w: u32, last: usize,
): void {
  for (let j: u32 = 0; j < count; j++) {
    const p = hashes + (j << 3);
    store<u8>(last + j, <u8>has(load<u32>(p), load<u32>(p, 4), filter, <u64>range, <u64>stride, k, w));
  }
}

export function countingCount(
  hashes: usize, count: u32, filter: usize, range: f64, stride: f64, k: u32, w: u32, last: usize,
): void {
  for (let j: u32 = 0; j < count; j++) {
    const p = hashes + (j << 3);
    store<f64>(last + (j << 3), least(load<u32>(p), load<u32>(p, 4), filter, <u64>range, <u64>stride, k, w));
  }
}

// Returns how many keys were certainly not in before.
export function countingAdd(
  hashes: usize, count: u32, filter: usize, range: f64, stride: f64, k: u32, w: u32, last: usize,
): u32 {
  let fresh: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const p = hashes + (j << 3);
    fresh += add(load<u32>(p), load<u32>(p, 4), filter, <u64>range, <u64>stride, k, w, last);
  }
  return fresh;
}

// Returns how many keys were removed; the others were certainly not in.
export function countingDelete(
  hashes: usize, count: u32, filter: usize, range: f64, stride: f64, k: u32, w: u32, last: usize,
): u32 {
  let removed: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const p = hashes + (j << 3);
    removed += remove(load<u32>(p), load<u32>(p, 4), filter, <u64>range, <u64>stride, k, w, last);
  }
  return removed;
}

export function countingHasOne(
  a: u32, b: u32, filter: usize, range: f64, stride: f64, k: u32, w: u32,
): u32 {
  return has(a, b, filter, <u64>range, <u64>stride, k, w);
}

export function countingCountOne(
  a: u32, b: u32, filter: usize, range: f64, stride: f64, k: u32, w: u32,
): u32 {
  return least(a, b, filter, <u64>range, <u64>stride, k, w);
}

export function countingAddOne(
  a: u32, b: u32, filter: usize, range: f64, stride: f64, k: u32, w: u32, changes: usize,
): u32 {
  return add(a, b, filter, <u64>range, <u64>stride, k, w, changes);
}

export function countingDeleteOne(
  a: u32, b: u32, filter: usize, range: f64, stride: f64, k: u32, w: u32, changes: usize,
): u32 {
  return remove(a, b, filter, <u64>range, <u64>stride, k, w, changes);
}

function has(a: u32, b: u32, filter: usize, m: u64, step: u64, k: u32, w: u32): u32 {
  const most: u32 = (1 << w) - 1;
  let offset: u64 = 0;
  for (let i: u32 = 0; i < k; i++) {
    if (counter(filter, (offset + probeIndex(a, b, i, m)) * w, most) == 0) return 0;
    offset += step;
  }
  return 1;
}

function least(a: u32, b: u32, filter: usize, m: u64, step: u64, k: u32, w: u32): u32 {
  const most: u32 = (1 << w) - 1;
  let count: u32 = most;
  let offset: u64 = 0;
  for (let i: u32 = 0; i < k; i++) {
    count = min(count, counter(filter, (offset + probeIndex(a, b, i, m)) * w, most));
    offset += step;
  }
  return count;
}

function add(a: u32, b: u32, filter: usize, m: u64, step: u64, k: u32, w: u32, changes: usize): u32 {
  const known = read(filter, a, b, m, step, k, w);
  write(filter, k, w, changes, 1, 0);
  return <u32>(known == 0);
}

function remove(a: u32, b: u32, filter: usize, m: u64, step: u64, k: u32, w: u32, changes: usize): u32 {
  if (read(filter, a, b, m, step, k, w) == 0) return 0;
  write(filter, k, w, changes, -1, 1);
  return 1;
}

// Leaves the bit offsets and the counters of a key in the scratch region; returns the smallest
// counter.
// @ts-ignore: decorator
@inline
function read(filter: usize, a: u32, b: u32, m: u64, step: u64, k: u32, w: u32): u32 {
  const most: u32 = (1 << w) - 1;
  let least: u32 = most;
  let offset: u64 = 0;
  for (let i: u32 = 0; i < k; i++) {
    const bit = (offset + probeIndex(a, b, i, m)) * w;
    const old = counter(filter, bit, most);
    store<u64>(SCRATCH + (i << 3), bit);
    store<u32>(OLDS + (i << 2), old);
    least = min(least, old);
    offset += step;
  }
  return least;
}

// @ts-ignore: decorator
@inline
function write(filter: usize, k: u32, w: u32, changes: usize, step: i32, fromOrToZero: u32): void {
  const most: u32 = (1 << w) - 1;
  for (let i: u32 = 0; i < k; i++) {
    const old = load<u32>(OLDS + (i << 2));
    if (old == most) continue;
    const bit = load<u64>(SCRATCH + (i << 3));
    const p = filter + ((<usize>(bit >> 4)) << 1);
    const shift = <u32>bit & 15;
    const pair = <u32>load<u16>(p);
    if (((pair >> shift) & most) != old) continue;
    store<u16>(p, <u16>(pair + (<u32>step << shift)));
    if (changes != 0 && old == fromOrToZero) {
      const index = bit >> ctz<u32>(w);
      const at = changes + <usize>(index >> 3);
      store<u8>(at, load<u8>(at) ^ (<u8>1 << (<u8>index & 7)));
    }
  }
}
