// Solving a binary fuse table by peeling: explained, and with its twin, in
// src/kernel/tables/fuse-build.ts.
//
// The loops are functions that work on a block of keys or slots, exported so that the optimiser
// leaves them functions. An engine compiles a module quickly first and well later, and takes up the
// better code only when a function is called again. One long call would run to its end in the code
// that was compiled quickly: the first table of a program, of a million keys, takes 125 instead of
// 95 ns a key that way (V8).

import { field, fingerprint, firstSlot, mixed, position, slot0, slot1, slot2, slot3, tableSeed } from './fuse-slots';

const BLOCK: u32 = 8192;

// 32 keys in a slot: there is no chance, and the count is far from overflowing.
const CROWDED: u8 = 0x80;

// The table that is being solved.
let hashes: usize = 0;
let length: u64 = 0;
let segments: u64 = 0;
let attempt: u32 = 0;
let stride: u32 = 0;
let width: u32 = 0;
let ownIndex: bool = false;
let keys: usize = 0;
let counts: usize = 0;
let order: usize = 0;
let table: usize = 0;
// The end of the waiting list, and how many keys have been peeled.
let top: usize = 0;
let done: u32 = 0;

// `at`: n different hashes. `solution` is all zeros. `slotKeys` (8 bytes a slot), `slotCounts` (1 a
// slot), `waiting` (4 a slot and 8 more) and `peeled` (4 a key) are working memory. Returns whether
// there is a solution; it is in `solution` then.
export function fuseSolve(
  at: usize, n: u32, segmentLength: u32, segmentCount: u32, number: u32, slotBits: u32, fieldBits: u32, withIndex: bool,
  slotKeys: usize, slotCounts: usize, waiting: usize, peeled: usize, solution: usize,
): bool {
  const slots: u32 = (segmentCount + 3) * segmentLength;
  hashes = at;
  length = segmentLength;
  segments = segmentCount;
  attempt = number;
  stride = slotBits;
  width = fieldBits;
  ownIndex = withIndex;
  keys = slotKeys;
  counts = slotCounts;
  order = peeled;
  table = solution;
  top = waiting;
  done = 0;
  memory.fill(keys, 0, <usize>slots << 3);
  memory.fill(counts, 0, slots);
  for (let i: u32 = 0; i < n; i += BLOCK) {
    if (fuseEnter(i, min(n, i + BLOCK)) >= CROWDED) return false;
  }
  for (let i: u32 = 0; i < slots; i += BLOCK) fuseGather(i, min(slots, i + BLOCK));
  while (top > waiting) fusePeel(waiting);
  if (done != n) return false;
  for (let i = n; i > 0; i -= min(i, BLOCK)) fuseAssign(i - min(i, BLOCK), i);
  return true;
}

// Enters keys into their slots. Returns the OR of the counts.
export function fuseEnter(from: u32, to: u32): u8 {
  const at = keys;
  const tallies = counts;
  const long = length;
  const several = segments;
  const seed = tableSeed(attempt);
  let most: u8 = 0;
  for (let i = from; i < to; i++) {
    const h = load<u64>(hashes + (<usize>i << 3));
    const z = mixed(h, seed);
    const product = position(h, z, attempt) * several;
    const first = firstSlot(product, long);
    most |= enter(at, tallies, slot0(first, product, long), h, 0);
    most |= enter(at, tallies, slot1(first, z, long), h, 1);
    most |= enter(at, tallies, slot2(first, z, long), h, 2);
    most |= enter(at, tallies, slot3(first, z, long), h, 3);
  }
  return most;
}

// Puts slots with a single key on the waiting list.
export function fuseGather(from: u32, to: u32): void {
  let end = top;
  for (let slot = from; slot < to; slot++) {
    store<u32>(end, slot);
    end += <usize>(load<u8>(counts + slot) >> 2 == 1) << 2;
  }
  top = end;
}

// Takes the keys out of up to a block of waiting slots, from the end of the list.
export function fusePeel(waiting: usize): void {
  const at = keys;
  const tallies = counts;
  const long = length;
  const several = segments;
  const seed = tableSeed(attempt);
  let end = top;
  let peeled = done;
  for (let left = BLOCK; left > 0 && end > waiting; left--) {
    end -= 4;
    const slot = load<u32>(end);
    const own = load<u8>(tallies + slot);
    if (own >> 2 != 1) continue;
    const h = load<u64>(at + (<usize>slot << 3));
    store<u32>(order + (<usize>peeled << 2), slot);
    peeled++;
    const z = mixed(h, seed);
    const product = position(h, z, attempt) * several;
    const first = firstSlot(product, long);
    end = leave(at, tallies, slot0(first, product, long), h, 0, end);
    end = leave(at, tallies, slot1(first, z, long), h, 1, end);
    end = leave(at, tallies, slot2(first, z, long), h, 2, end);
    end = leave(at, tallies, slot3(first, z, long), h, 3, end);
    // Its own slot keeps the key, and which of the key's slots it is, for the way back.
    store<u64>(at + (<usize>slot << 3), h);
    store<u8>(tallies + slot, own & 3);
  }
  top = end;
  done = peeled;
}

// Gives peeled keys their slots, the last one first.
export function fuseAssign(from: u32, to: u32): void {
  const at = keys;
  const tallies = counts;
  const long = length;
  const several = segments;
  const seed = tableSeed(attempt);
  for (let i = to; i > from; i--) {
    const slot = load<u32>(order + (<usize>(i - 1) << 2));
    const h = load<u64>(at + (<usize>slot << 3));
    const z = mixed(h, seed);
    const product = position(h, z, attempt) * several;
    const first = firstSlot(product, long);
    let value =
      field(table, slot0(first, product, long), stride) ^
      field(table, slot1(first, z, long), stride) ^
      field(table, slot2(first, z, long), stride) ^
      field(table, slot3(first, z, long), stride) ^
      fingerprint(z, width);
    if (ownIndex) value ^= load<u8>(tallies + slot);
    const bit = <u64>slot * stride;
    const p = table + <usize>(bit >> 3);
    const kept = <u64>((value << (32 - width)) >> (32 - width));
    store<u64>(p, load<u64>(p) | (kept << (bit & 7)));
  }
}

// A count is four times the number of keys in the slot, and in its lower two bits the XOR of which
// of their slots it is.
// @ts-ignore: decorator
@inline
function enter(at: usize, tallies: usize, slot: u64, h: u64, i: u8): u8 {
  const key = at + (<usize>slot << 3);
  store<u64>(key, load<u64>(key) ^ h);
  const count = (load<u8>(tallies + <usize>slot) + 4) ^ i;
  store<u8>(tallies + <usize>slot, count);
  return count;
}

// Takes a key out of a slot. If one is left there, the slot waits at `end`; returns the new end.
// @ts-ignore: decorator
@inline
function leave(at: usize, tallies: usize, slot: u64, h: u64, i: u8, end: usize): usize {
  const key = at + (<usize>slot << 3);
  store<u64>(key, load<u64>(key) ^ h);
  const count = load<u8>(tallies + <usize>slot);
  store<u8>(tallies + <usize>slot, (count - 4) ^ i);
  store<u32>(end, <u32>slot);
  return end + (<usize>(count >> 2 == 2) << 2);
}
