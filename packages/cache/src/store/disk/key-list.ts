/**
 * All keys, read from the packs: one pack after the other, each from its beginning to its end, a megabyte at a time. A million small entries take 3 to 5 s
 * on two slow cores with others at work, 4 bytes of memory an entry and 8 more for those of one pack, and hold up
 * the event loop for under 30 ms 99 times in 100, for 36 to 133 at the longest (at the lowest priority, with a load of two).
 *
 * Entries change meanwhile. Promised is: a key that is stored from the beginning to the end is given. One whose entry is replaced while this goes on
 * may be given twice: before it is visited the new one would be missed otherwise, and who makes a summary of the keys may err on that side
 * only. Numbers of entries only grow, so the new ones are those above the highest number that was there before; they are looked at when all others
 * were, until no more have come.
 */

import { setImmediate as turn } from 'node:timers/promises';
import type { EntryIndex } from './entry-index.ts';
import { isRecord, recordKey } from './pack-record.ts';
import type { Packs } from './packs.ts';

/** Reads the key of one entry; undefined: it is gone, or cannot be read. */
type LoadKey = (id: number, low: number, high: number) => Promise<string | undefined>;

/** Read at once. */
const LIST_BYTES = 1024 * 1024;
/** Offset in a pack and place in a list, in one number that sorts fast: 28 bits (packs.ts) and 23 (a record has more than 32 bytes). */
const PLACES = 2 ** 23;

export async function* listKeys(index: EntryIndex, packs: Packs, load: LoadKey): AsyncGenerator<string> {
  // Only keys with several variants can come twice.
  const seen = new Set<string>();
  let after = 0;
  for (;;) {
    const upTo = highestId(index);
    if (upTo <= after) return;
    for (const [pack, slots] of slotsByPack(index, after, upTo)) {
      await turn();
      sortByOffset(slots, index);
      // All in one generator: another one within would cost more than the reading.
      for (let from = 0; from < slots.length; ) {
        const start = index.offset[slots[from]];
        const bytes = await packs.read(pack, start, LIST_BYTES).catch(() => Buffer.alloc(0));
        const before = from;
        for (; from < slots.length; from++) {
          const slot = slots[from];
          const id = index.ids[slot];
          // It went meanwhile, and the slot may be another's, who comes later.
          if (!index.used(slot) || id > upTo) continue;
          const low = index.low[slot];
          const high = index.high[slot];
          const at = index.offset[slot] - start;
          const end = at + index.recordBytes[slot];
          const inside = index.pack[slot] === pack && at >= 0 && end <= bytes.length;
          // The rest of the window is the beginning of a record that the next one has whole.
          if (!inside && from > before && index.pack[slot] === pack) break;
          const record = inside ? bytes.subarray(at, end) : undefined;
          const good = record !== undefined && isRecord(record, id);
          const key = good ? recordKey(record) : await load(id, low, high);
          if (key === undefined || seen.has(key)) continue;
          const first = index.first(low, high);
          if (first >= 0 && index.following(first) >= 0) seen.add(key);
          yield key;
        }
      }
    }
    after = upTo;
  }
}

function highestId(index: EntryIndex): number {
  let highest = 0;
  for (let slot = 0; slot < index.bound; slot++) {
    if (index.ids[slot] > highest) highest = index.ids[slot];
  }
  return highest;
}

/** The slots of entries with these numbers, as views of one array: counted first, then put in their places. */
function slotsByPack(index: EntryIndex, after: number, upTo: number): Map<number, Uint32Array> {
  const wanted = (slot: number) => index.ids[slot] > after && index.ids[slot] <= upTo;
  const counts = new Map<number, number>();
  let total = 0;
  // Neighbours are mostly of the same pack.
  let pack = -1;
  let count = 0;
  const note = () => {
    if (count > 0) counts.set(pack, (counts.get(pack) ?? 0) + count);
    count = 0;
  };
  for (let slot = 0; slot < index.bound; slot++) {
    if (!wanted(slot)) continue;
    if (index.pack[slot] !== pack) {
      note();
      pack = index.pack[slot];
    }
    count++;
    total++;
  }
  note();
  const all = new Uint32Array(total);
  const lists = new Map<number, { readonly slots: Uint32Array; filled: number }>();
  let at = 0;
  for (const [number, size] of counts) {
    lists.set(number, { slots: all.subarray(at, at + size), filled: 0 });
    at += size;
  }
  let list = lists.get(pack);
  for (let slot = 0; slot < index.bound; slot++) {
    if (!wanted(slot)) continue;
    if (index.pack[slot] !== pack) {
      pack = index.pack[slot];
      list = lists.get(pack);
    }
    list!.slots[list!.filled++] = slot;
  }
  return new Map([...lists].map(([number, { slots }]) => [number, slots]));
}

function sortByOffset(slots: Uint32Array, index: EntryIndex): void {
  const order = new Float64Array(slots.length);
  let ascending = true;
  for (let i = 0; i < slots.length; i++) {
    order[i] = index.offset[slots[i]] * PLACES + i;
    if (i > 0 && order[i] < order[i - 1]) ascending = false;
  }
  if (ascending) return;
  // Without a function to compare: ten times as fast.
  order.sort();
  const unsorted = slots.slice();
  for (let i = 0; i < slots.length; i++) slots[i] = unsorted[order[i] % PLACES];
}
