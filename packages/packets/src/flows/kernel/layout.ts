/**
 * The map of a flow table's memory, which both kernels use:
 *
 *     0        STATE     threshold, sizes, the secret of the hash
 *     128      FACTORS   one odd number for each row of the filter
 *     1024     HASHES    scratch of the WebAssembly kernel, with PLACES at 2048
 *     4096     KEYS      the keys of a batch, one after the other
 *     45056    AMOUNTS   what to add for each key: bytes, or packets
 *     53248    OTHERS    the other one of the two
 *     65536    FILTER    counters of 32 bits, row by row
 *              INDEX     slots of 8 bytes: 32 bits of the hash, place in the arena + 1, in units
 *              ARENA     entries in units of 32 bytes: key, two doubles (amount, other)
 *              BEFORE    a double for each unit: bound on the amount before the entry was made
 *
 * A key is one to five words of 8 bytes. Its first byte is the number of words, so keys of IPv4
 * take 16 bytes and keys of IPv6 40 in the same table. An entry of IPv4 is one unit, and never lies
 * in two lines of the cache; one of IPv6 is two units.
 *
 * BEFORE is needed only when the table is no longer exact. Until then the arena reaches to the end
 * of the memory. The first eviction frees the last fifth of it, because at most 3/4 of the arena
 * can stay. The entries that are held take at most a quarter. Of the others at most half stay. In
 * the worst case these are all of IPv6 and the evicted ones of IPv4, so they take two thirds of the
 * remaining three quarters, which is half of the arena.
 *
 * The whole memory is reserved at the start. The system gives a page when it is first written, so a
 * capture of few flows takes little, and nothing moves when the table grows: the index has the room
 * of its final size from the start and uses a prefix of it.
 */

import { ROW_FACTORS } from './row-place.ts';

export const STATE = {
  threshold: 0,
  entries: 24,
  shift: 28,
  used: 32,
  nextKey: 36,
  secret: 40,
  width: 56,
  depth: 60,
  index: 64,
  arena: 68,
  arenaBytes: 72,
  mostEntries: 76,
  filter: 80,
  mostSlots: 84,
  /** Bytes of the arena with entries that were kept from the interval before. They come first. */
  held: 88,
  before: 92,
  touched: 96,
  estimateBytes: 100,
} as const;

const FACTORS_AT = 128;
export const KEYS_AT = 4096;
export const AMOUNTS_AT = 45056;
export const OTHERS_AT = 53248;
const FILTER_AT = 65536;

/** Keys in a batch: as many of the longest as fit at KEYS. */
export const BATCH_KEYS = 1024;
export const MAX_KEY_WORDS = 5;
/** Bytes of a unit of the arena. */
const UNIT = 32;
/** A counter with this value stands for "this or more". */
export const SATURATED = 0xffffffff;

/** The load (entries divided by slots) above which the index is doubled. */
const MOST_LOAD = 3 / 4;
/** An index has 2^(32 - shift) slots. */
export const FIRST_SHIFT = 22;
const FIRST_SLOTS = 1024;

export interface FlowLayout {
  readonly width: number;
  readonly depth: number;
  readonly indexAt: number;
  readonly mostSlots: number;
  readonly arenaAt: number;
  /** Bytes for entries while the table is exact, and when it no longer is. */
  readonly arenaBytes: number;
  readonly estimateBytes: number;
  readonly beforeAt: number;
  readonly bytes: number;
}

/** Least memory of a table with this filter: one that can hold some hundred entries. */
export function leastMemory(width: number, depth: number): number {
  return FILTER_AT + 4 * width * depth + 65536;
}

/**
 * Divides a memory of `bytes` into filter, index and arena. An entry of IPv4 takes 32 bytes, so a
 * quarter of the room for slots of 8 bytes lets the arena fill up at a load between 3/8 and 3/4.
 */
export function planLayout(bytes: number, width: number, depth: number): FlowLayout {
  const indexAt = Math.ceil((FILTER_AT + 4 * width * depth) / 64) * 64;
  const room = bytes - indexAt;
  let mostSlots = FIRST_SLOTS;
  while (mostSlots * 16 <= room / 4) mostSlots *= 2;
  const arenaAt = indexAt + 8 * mostSlots;
  const arenaBytes = Math.floor((bytes - arenaAt) / UNIT) * UNIT;
  const estimateBytes = Math.floor((arenaBytes * 4) / 5 / UNIT) * UNIT;
  return {
    width,
    depth,
    indexAt,
    mostSlots,
    arenaAt,
    arenaBytes,
    estimateBytes,
    beforeAt: arenaAt + estimateBytes,
    bytes,
  };
}

/** Bytes of an entry with a key of `keyBytes` bytes. */
export function entryBytes(keyBytes: number): number {
  return (keyBytes + 16 + UNIT - 1) & -UNIT;
}

/** Writes the state of an empty table. `secret` is the key of the hash, 16 bytes. */
export function writeState(buffer: ArrayBuffer, layout: FlowLayout, secret: Uint8Array): void {
  const view = new DataView(buffer);
  const set = (at: number, value: number) => view.setUint32(at, value, true);
  set(STATE.shift, FIRST_SHIFT);
  new Uint8Array(buffer, STATE.secret, 16).set(secret);
  set(STATE.width, layout.width);
  set(STATE.depth, layout.depth);
  set(STATE.index, layout.indexAt);
  set(STATE.arena, layout.arenaAt);
  set(STATE.arenaBytes, layout.arenaBytes);
  set(STATE.before, layout.beforeAt);
  set(STATE.estimateBytes, layout.estimateBytes);
  set(STATE.mostEntries, layout.mostSlots * MOST_LOAD);
  set(STATE.filter, FILTER_AT);
  set(STATE.mostSlots, layout.mostSlots);
  for (const [row, factor] of ROW_FACTORS.entries()) {
    view.setBigUint64(FACTORS_AT + 8 * row, factor, true);
  }
}
