/**
 * Lists all keys by reading the packs: one pack after the other, each from its beginning to its
 * end, a megabyte at a time. A million small entries take 3 to 5 s on two slow cores with other
 * load, 20 bytes of memory per entry and 8 more for those of one pack. The event loop is blocked
 * for under 30 ms 99 times in 100, and for 36 to 133 at the longest (at the lowest priority, with a
 * load of two).
 *
 * Entries change meanwhile. The promise: a key that is stored from the beginning to the end is
 * listed. The entries at the beginning are recorded, with the hashes of their keys, and each is
 * visited once. If an entry is gone by then, the keys that are stored under its hash now are listed
 * instead, because one of them may have replaced it. New entries are not looked for, so the listing
 * always ends. A key may be listed twice if its entries change. A summary may contain keys too
 * many, but must not lack any, which is also why a key that exists and cannot be read ends the
 * listing with an error.
 */

import { setImmediate as turn } from 'node:timers/promises';
import { isRecord, recordKey } from '../bodies/pack-record.ts';
import type { Packs } from '../bodies/packs.ts';
import type { EntryIndex } from './entry-index.ts';

/**
 * Reads the key of one entry, or undefined if it is gone or damaged. Rejects if it exists and
 * cannot be read.
 */
type LoadKey = (id: number, low: number, high: number) => Promise<string | undefined>;

/** Bytes per read. */
const LIST_BYTES = 1024 * 1024;
/**
 * Factor that puts the offset in a pack and the position in a list into one number, which sorts
 * fast. The offset takes 28 bits (packs.ts), and the position 23, because a record has more than 32
 * bytes.
 */
const PLACES = 2 ** 23;

/** The entries at the beginning, by pack. */
interface Noted {
  readonly ids: Float64Array;
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  readonly slots: Uint32Array;
  /** The range of each pack's entries in the columns. */
  readonly packs: ReadonlyMap<number, { readonly from: number; to: number }>;
}

export async function* listKeys(index: EntryIndex, packs: Packs, load: LoadKey): AsyncGenerator<string> {
  // Only keys with several variants can appear twice, unless they change.
  const seen = new Set<string>();
  const noted = note(index);
  for (const [pack, { from, to }] of noted.packs) {
    await turn();
    const order = byOffset(noted.slots.subarray(from, to), index);
    // All in one generator, because a nested one would cost more than the reading.
    for (let next = 0; next < order.length; ) {
      const start = index.offset[noted.slots[from + order[next]]];
      const bytes = await packs.read(pack, start, LIST_BYTES).catch(() => Buffer.alloc(0));
      const before = next;
      for (; next < order.length; next++) {
        const place = from + order[next];
        const slot = noted.slots[place];
        const id = noted.ids[place];
        const low = noted.low[place];
        const high = noted.high[place];
        let key: string | undefined;
        if (index.ids[slot] === id) {
          const at = index.offset[slot] - start;
          const end = at + index.recordBytes[slot];
          const inside = index.pack[slot] === pack && at >= 0 && end <= bytes.length;
          // The rest of the window is the beginning of a record that the next window has whole.
          if (!inside && next > before && index.pack[slot] === pack) break;
          const record = inside ? bytes.subarray(at, end) : undefined;
          key = record !== undefined && isRecord(record, id) ? recordKey(record) : await load(id, low, high);
          if (key !== undefined) {
            if (seen.has(key)) continue;
            const first = index.first(low, high);
            if (first >= 0 && index.following(first) >= 0) seen.add(key);
            yield key;
            continue;
          }
        }
        // The entry was removed before it was visited or while it was read, and another may have
        // replaced it.
        for (const other of await keysUnder(index, low, high, load)) {
          if (seen.has(other)) continue;
          seen.add(other);
          yield other;
        }
      }
    }
  }
}

/**
 * The keys of all entries under a hash. If an entry is replaced while it is read, the search is
 * repeated.
 */
async function keysUnder(index: EntryIndex, low: number, high: number, load: LoadKey): Promise<Set<string>> {
  const keys = new Set<string>();
  const visited = new Set<number>();
  for (let missed = true; missed; ) {
    missed = false;
    const ids: number[] = [];
    for (let slot = index.first(low, high); slot >= 0; slot = index.following(slot)) {
      if (!visited.has(index.ids[slot])) ids.push(index.ids[slot]);
    }
    for (const id of ids) {
      visited.add(id);
      const key = await load(id, low, high);
      if (key === undefined) missed = true;
      else keys.add(key);
    }
  }
  return keys;
}

/** Counts the entries first, then puts them in their places. */
function note(index: EntryIndex): Noted {
  const counts = new Map<number, number>();
  // Neighbours are mostly in the same pack.
  let pack = -1;
  let count = 0;
  const add = () => {
    if (count > 0) counts.set(pack, (counts.get(pack) ?? 0) + count);
    count = 0;
  };
  for (let slot = 0; slot < index.bound; slot++) {
    if (!index.used(slot)) continue;
    if (index.pack[slot] !== pack) {
      add();
      pack = index.pack[slot];
    }
    count++;
  }
  add();
  const packs = new Map<number, { from: number; to: number }>();
  let at = 0;
  for (const [number, size] of counts) {
    packs.set(number, { from: at, to: at });
    at += size;
  }
  const noted = {
    ids: new Float64Array(at),
    low: new Uint32Array(at),
    high: new Uint32Array(at),
    slots: new Uint32Array(at),
    packs,
  };
  let range = packs.get(pack);
  for (let slot = 0; slot < index.bound; slot++) {
    if (!index.used(slot)) continue;
    if (index.pack[slot] !== pack) {
      pack = index.pack[slot];
      range = packs.get(pack);
    }
    const place = range!.to++;
    noted.ids[place] = index.ids[slot];
    noted.low[place] = index.low[slot];
    noted.high[place] = index.high[slot];
    noted.slots[place] = slot;
  }
  return noted;
}

/** The positions in a list of slots, in the order of their records. */
function byOffset(slots: Uint32Array, index: EntryIndex): Float64Array {
  const order = new Float64Array(slots.length);
  let ascending = true;
  for (let i = 0; i < slots.length; i++) {
    order[i] = index.offset[slots[i]] * PLACES + i;
    if (i > 0 && order[i] < order[i - 1]) ascending = false;
  }
  // Sorting without a comparison function is ten times as fast.
  if (!ascending) order.sort();
  for (let i = 0; i < order.length; i++) order[i] %= PLACES;
  return order;
}
