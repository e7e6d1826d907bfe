// The hot loops of the flow table: explained, and with their twin, in
// src/flows/kernel/script-kernel.ts. The map of the memory is in src/flows/kernel/layout.ts.

import { sipHash, sipHashPair } from './siphash';

const THRESHOLD: usize = 0;
const ENTRIES: usize = 24;
const SHIFT: usize = 28;
const USED: usize = 32;
const NEXT_KEY: usize = 36;
const SECRET: usize = 40;
const WIDTH: usize = 56;
const DEPTH: usize = 60;
const INDEX: usize = 64;
const ARENA: usize = 68;
const ARENA_BYTES: usize = 72;
const MOST_ENTRIES: usize = 76;
const FILTER: usize = 80;
const MOST_SLOTS: usize = 84;
const HELD: usize = 88;
const BEFORE: usize = 92;
const ESTIMATE_BYTES: usize = 100;

const TOUCHED: usize = 96;
const FACTORS: usize = 128;

const HASHES: usize = 1024;
const PLACES: usize = 2048;
const KEYS: usize = 4096;
const AMOUNTS: usize = 45056;
const OTHERS: usize = 53248;
// Keys that are hashed, and whose places are read, before the first of them is counted.
const GROUP: u32 = 64;
const SATURATED: u32 = 0xffffffff;

// Bytes of an entry with a key of so many words: whole units of 32.
// @ts-ignore: decorator
@inline
function entryBytes(words: u32): u32 {
  return ((words << 3) + 47) & ~31;
}

// The bound on the amount before an entry was made, by the entry's place in the arena.
// @ts-ignore: decorator
@inline
function beforeAt(before: usize, at: u32): usize {
  return before + (<usize>at >> 2);
}

// @ts-ignore: decorator
@inline
function counterAt(hash: u64, row: u32, filter: usize, width: u32): usize {
  const high = (hash * load<u64>(FACTORS + <usize>(row << 3))) >> 32;
  return filter + <usize>((row * width + <u32>((high * width) >> 32)) << 2);
}

// Whether the key at `key`, of `words` words, is the one at `entry`.
// @ts-ignore: decorator
@inline
function sameKey(key: usize, entry: usize, words: u32): bool {
  for (let i: u32 = 0; i < words; i++) {
    if (load<u64>(key + (i << 3)) != load<u64>(entry + (i << 3))) return false;
  }
  return true;
}

// Counts keys from number `from` on, the first of them at NEXT_KEY. Returns the number of the first
// key that was not counted: `count`, or less if the table is full.
export function absorb(from: u32, count: u32): u32 {
  const k0 = load<u64>(SECRET);
  const k1 = load<u64>(SECRET, 8);
  const index = <usize>load<u32>(INDEX);
  const arena = <usize>load<u32>(ARENA);
  const before = <usize>load<u32>(BEFORE);
  const filter = <usize>load<u32>(FILTER);
  const width = load<u32>(WIDTH);
  const depth = load<u32>(DEPTH);
  const threshold = load<f64>(THRESHOLD);
  const arenaBytes = load<u32>(ARENA_BYTES);
  const mostEntries = load<u32>(MOST_ENTRIES);
  let shift = load<u32>(SHIFT);
  let mask = slotMask(shift);
  let entries = load<u32>(ENTRIES);
  let used = load<u32>(USED);
  let at = <usize>load<u32>(NEXT_KEY);
  let touched: u32 = 0;

  for (let start = from; start < count; start += GROUP) {
    const size = min(GROUP, count - start);
    // Three passes that only hash and read, so that the reads of many keys wait for memory at the
    // same time: WebAssembly has no instruction to prefetch. The reads have loops of their own,
    // because between two hashes only two or three of them would be under way.
    let p = at;
    for (let i: u32 = 0; i < size; i++) {
      const words = <u32>load<u8>(p);
      const hash = words == 2 ? sipHashPair(p, k0, k1) : sipHash(p, words, k0, k1);
      store<u64>(HASHES + (i << 3), hash);
      store<u32>(PLACES + (i << 2), <u32>p);
      p += <usize>words << 3;
    }
    for (let i: u32 = 0; i < size; i++) {
      touched += load<u32>(index + (<usize>(load<u32>(HASHES + (i << 3), 4) >> shift) << 3));
    }
    for (let i: u32 = 0; i < size; i++) {
      const slot = index + (<usize>(load<u32>(HASHES + (i << 3), 4) >> shift) << 3);
      // An empty slot has place 0; what is before the arena is the last line of the index.
      touched += load<u32>(arena + (<usize>load<u32>(slot, 4) << 5) - 32);
    }
    for (let i: u32 = 0; i < size; i++) {
      const hash = load<u64>(HASHES + (i << 3));
      const key = <usize>load<u32>(PLACES + (i << 2));
      const words = <u32>load<u8>(key);
      const amount = load<f64>(AMOUNTS + <usize>((start + i) << 3));
      const other = load<f64>(OTHERS + <usize>((start + i) << 3));
      const tag = <u32>(hash >> 32);
      let slot = tag >> shift;
      let place: u32 = 0;
      let found: usize = 0;
      while ((place = load<u32>(index + (<usize>slot << 3), 4)) != 0) {
        const entry = arena + (<usize>(place - 1) << 5);
        if (load<u32>(index + (<usize>slot << 3)) == tag && sameKey(key, entry, words)) {
          found = entry + (<usize>words << 3);
          break;
        }
        slot = (slot + 1) & mask;
      }
      if (found != 0) {
        store<f64>(found, load<f64>(found) + amount);
        store<f64>(found, load<f64>(found, 8) + other, 8);
        continue;
      }
      let bound: f64 = 0;
      if (threshold > 0) {
        let least: u32 = SATURATED;
        for (let row: u32 = 0; row < depth; row++) {
          least = min(least, load<u32>(counterAt(hash, row, filter, width)));
        }
        bound = least == SATURATED ? threshold : min(<f64>least, threshold);
        if (bound + amount < threshold) {
          raise(hash, bound + amount, filter, width, depth);
          continue;
        }
      }
      const bytes = entryBytes(words);
      if (entries >= mostEntries || used + bytes > arenaBytes) {
        store<u32>(ENTRIES, entries);
        store<u32>(USED, used);
        store<u32>(NEXT_KEY, <u32>key);
        return start + i;
      }
      const entry = arena + used;
      memory.copy(entry, key, words << 3);
      const counts = entry + (<usize>words << 3);
      store<f64>(counts, amount);
      store<f64>(counts, other, 8);
      if (threshold > 0) store<f64>(beforeAt(before, used), bound);
      store<u32>(index + (<usize>slot << 3), tag);
      store<u32>(index + (<usize>slot << 3), (used >> 5) + 1, 4);
      used += bytes;
      entries++;
      if (entries * 4 > (mask + 1) * 3 && mask + 1 < load<u32>(MOST_SLOTS)) {
        store<u32>(USED, used);
        grow();
        shift = load<u32>(SHIFT);
        mask = slotMask(shift);
      }
    }
    at = p;
  }
  store<u32>(ENTRIES, entries);
  store<u32>(USED, used);
  store<u32>(NEXT_KEY, <u32>at);
  store<u32>(TOUCHED, touched);
  return count;
}

// Conservative update: no counter of the key stays below `bound`.
function raise(hash: u64, bound: f64, filter: usize, width: u32, depth: u32): void {
  const value = bound >= 4294967295.0 ? SATURATED : <u32>bound;
  for (let row: u32 = 0; row < depth; row++) {
    const counter = counterAt(hash, row, filter, width);
    if (load<u32>(counter) < value) store<u32>(counter, value);
  }
}

// Doubles the slots of the index. A slot is the upper bits of its tag, so the entries come in the
// order of their new slots, and no key has to be hashed again. The old slots wait behind the
// entries; where they do not fit, all keys are hashed.
function grow(): void {
  const index = <usize>load<u32>(INDEX);
  const used = load<u32>(USED);
  const shift = load<u32>(SHIFT) - 1;
  const mask = slotMask(shift);
  const half = (mask + 1) << 2;
  if (used + half > load<u32>(ARENA_BYTES)) {
    rebuild(shift);
    return;
  }
  const old = <usize>(load<u32>(ARENA) + used);
  memory.copy(old, index, half);
  memory.fill(index, 0, <usize>half << 1);
  for (let p = old; p < old + half; p += 8) {
    if (load<u32>(p, 4) != 0) placeTag(index, load<u32>(p), load<u32>(p, 4), shift, mask);
  }
  memory.fill(old, 0, half);
  store<u32>(SHIFT, shift);
}

// @ts-ignore: decorator
@inline
function slotMask(shift: u32): u32 {
  return 0xffffffff >> shift;
}

// @ts-ignore: decorator
@inline
function placeTag(index: usize, tag: u32, place: u32, shift: u32, mask: u32): void {
  let slot = tag >> shift;
  while (load<u32>(index + (<usize>slot << 3), 4) != 0) slot = (slot + 1) & mask;
  store<u32>(index + (<usize>slot << 3), tag);
  store<u32>(index + (<usize>slot << 3), place, 4);
}

// Makes an index of 2^(32 - shift) slots for the entries of the arena.
export function rebuild(shift: u32): void {
  const index = <usize>load<u32>(INDEX);
  const arena = <usize>load<u32>(ARENA);
  const used = load<u32>(USED);
  const k0 = load<u64>(SECRET);
  const k1 = load<u64>(SECRET, 8);
  const mask = slotMask(shift);
  memory.fill(index, 0, (<usize>mask + 1) << 3);
  for (let at: u32 = 0; at < used; ) {
    const words = <u32>load<u8>(arena + at);
    const hash = sipHash(arena + at, words, k0, k1);
    placeTag(index, <u32>(hash >> 32), (at >> 5) + 1, shift, mask);
    at += entryBytes(words);
  }
  store<u32>(SHIFT, shift);
}

// Removes the entries below `threshold` that are not held, and puts their bounds into the filter.
export function evict(threshold: f64): void {
  const arena = <usize>load<u32>(ARENA);
  const filter = <usize>load<u32>(FILTER);
  const width = load<u32>(WIDTH);
  const depth = load<u32>(DEPTH);
  const used = load<u32>(USED);
  const k0 = load<u64>(SECRET);
  const k1 = load<u64>(SECRET, 8);
  const befores = <usize>load<u32>(BEFORE);
  const held = load<u32>(HELD);
  const wasExact = load<f64>(THRESHOLD) == 0;
  let kept: u32 = 0;
  let entries: u32 = 0;
  for (let at: u32 = 0; at < used; ) {
    const entry = arena + at;
    const words = <u32>load<u8>(entry);
    const bytes = entryBytes(words);
    const before = wasExact ? 0 : load<f64>(beforeAt(befores, at));
    const bound = load<f64>(entry + (<usize>words << 3)) + before;
    if (at < held || bound >= threshold) {
      if (kept != at) memory.copy(arena + kept, entry, bytes);
      if (!wasExact) store<f64>(beforeAt(befores, kept), before);
      kept += bytes;
      entries++;
    } else {
      raise(sipHash(entry, words, k0, k1), bound, filter, width, depth);
    }
    at += bytes;
  }
  if (wasExact) {
    memory.fill(befores, 0, <usize>kept >> 2);
    store<u32>(ARENA_BYTES, load<u32>(ESTIMATE_BYTES));
  }
  store<u32>(USED, kept);
  store<u32>(ENTRIES, entries);
  store<f64>(THRESHOLD, threshold);
  rebuild(load<u32>(SHIFT));
}

export { stage } from './stage-packets';
