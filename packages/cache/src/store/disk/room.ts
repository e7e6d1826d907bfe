/**
 * Room on the disk: what is used, and how some of it becomes free.
 *
 * Used is everything: packs with their garbage, body files with their checksums, temporary files, logs, the snapshot, and the next
 * snapshot, which will be written while the old one is still there. It stays below the capacity less one pack, and a pack is what moving records needs.
 *
 * When more is needed: if some pack is garbage by a quarter or more, its live records are moved and the file is deleted; otherwise
 * entries are evicted, least recently used first (entry-index.ts), until that is so or a deleted body file was enough. Hence at most
 * about a quarter of the packs is garbage, and a byte is written at most four times over to win one: only if uses are spread at random, for
 * entries of the same age lie in the same pack and mostly go together. Where no record is ever asked for again, whole packs die and
 * nothing is moved.
 *
 * Evictions are in the log before files go. If the log cannot be written they happen all the same: an entry whose record or body is missing is
 * dropped when it is asked for.
 */

import type { BodyTable } from './body-table.ts';
import type { EntryIndex } from './entry-index.ts';
import { type IndexJournal, putSlot } from './index-journal.ts';
import { PUT_BYTES, PUT_WITH_BODY_BYTES, RecordBuffer } from './index-records.ts';
import type { Ledger } from './ledger.ts';
import { isRecord, recordKey } from './pack-record.ts';
import type { Packs } from './packs.ts';

export interface RoomParts {
  readonly capacityBytes: number;
  readonly index: EntryIndex;
  readonly bodies: BodyTable;
  readonly packs: Packs;
  readonly journal: IndexJournal;
  readonly ledger: Ledger;
  /** Whether somebody wants to know the keys of what is evicted: then they are read. */
  watched(): boolean;
  /** Entries that went. `key`: if it was wanted and could be read, and nothing else is stored under it. */
  evicted(id: number, key: string | undefined): void;
  corrupt(): void;
}

const GARBAGE_SHARE = 0.25;
const MOST_VICTIMS = 512;
const MOVE_BYTES = 1024 * 1024;

export class Room {
  readonly #parts: RoomParts;
  /** Bytes in temporary files, and those that are promised to them or to a batch of changes. */
  heldBytes = 0;

  constructor(parts: RoomParts) {
    this.#parts = parts;
  }

  get used(): number {
    const { packs, bodies, journal, index } = this.#parts;
    const snapshot = index.count * PUT_BYTES + bodies.count * (PUT_WITH_BODY_BYTES - PUT_BYTES);
    return packs.bytes + bodies.bytes + this.heldBytes + journal.bytes + snapshot;
  }

  has(bytes: number): boolean {
    const { capacityBytes, packs } = this.#parts;
    return this.used + bytes <= capacityBytes - packs.packBytes;
  }

  /** Holds room for so many bytes if there is some without evicting anything. */
  tryHold(bytes: number): boolean {
    if (!this.has(bytes)) return false;
    this.heldBytes += bytes;
    return true;
  }

  /** The same, and evicts for it. Only in turn (ledger.ts). False: there is nothing more to evict. */
  async hold(bytes: number): Promise<boolean> {
    const { packs, capacityBytes } = this.#parts;
    if (bytes > capacityBytes - packs.packBytes) return false;
    while (!this.tryHold(bytes)) {
      const pack = packs.mostGarbage(GARBAGE_SHARE);
      if (pack !== undefined) await this.#compact(pack);
      else if (!(await this.#evict(bytes))) return false;
    }
    return true;
  }

  async #evict(bytes: number): Promise<boolean> {
    const { index, bodies, ledger, journal, capacityBytes } = this.#parts;
    const records = new RecordBuffer();
    const orphans = new Set<number>();
    const gone: { id: number; low: number; high: number; key: string | undefined }[] = [];
    // A little more than is needed, so that not every new entry has to do this again.
    const goal = Math.max(bytes, capacityBytes / 1024);
    let freed = 0;
    while (freed < goal && gone.length < MOST_VICTIMS) {
      const slot = index.oldest();
      if (slot < 0) break;
      const id = index.ids[slot];
      const low = index.low[slot];
      const high = index.high[slot];
      const key = this.#parts.watched() ? await this.#keyOf(slot) : undefined;
      const body = index.body[slot];
      freed += index.recordBytes[slot];
      if (body !== 0 && bodies.references(body) === 1) freed += bodies.length(body);
      records.delete(id, low, high);
      ledger.forgetSlot(slot, orphans);
      gone.push({ id, low, high, key });
    }
    if (gone.length === 0) return false;
    await journal.append(records).catch(() => {});
    await ledger.sweepBodies(orphans);
    for (const { id, low, high, key } of gone) {
      this.#parts.evicted(id, index.first(low, high) < 0 ? key : undefined);
    }
    return true;
  }

  /** Nothing else changes meanwhile, so the slot stays what it is. */
  async #keyOf(slot: number): Promise<string | undefined> {
    const { index, packs } = this.#parts;
    const id = index.ids[slot];
    try {
      const bytes = await packs.read(index.pack[slot], index.offset[slot], index.recordBytes[slot]);
      return isRecord(bytes, id) ? recordKey(bytes) : undefined;
    } catch {
      return undefined;
    }
  }

  /** Moves the live records of a pack to the newest one, and deletes it. */
  async #compact(pack: number): Promise<void> {
    const { index, packs } = this.#parts;
    const slots: number[] = [];
    for (let slot = 0; slot < index.bound; slot++) {
      if (index.used(slot) && index.pack[slot] === pack) slots.push(slot);
    }
    slots.sort((a, b) => index.offset[a] - index.offset[b]);
    let from = 0;
    while (from < slots.length) {
      let to = from;
      const start = index.offset[slots[from]];
      const endOf = (slot: number) => index.offset[slot] + index.recordBytes[slot];
      while (to < slots.length && (to === from || endOf(slots[to]) - start <= MOVE_BYTES)) to++;
      await this.#move(slots.slice(from, to), start, endOf(slots[to - 1]));
      from = to;
    }
    await packs.remove(pack);
  }

  async #move(slots: readonly number[], start: number, end: number): Promise<void> {
    const { index, bodies, packs, journal, ledger } = this.#parts;
    const bytes = await packs.read(index.pack[slots[0]], start, end - start).catch(() => Buffer.alloc(0));
    const moved: { slot: number; record: Buffer }[] = [];
    const records = new RecordBuffer();
    const orphans = new Set<number>();
    const lost: number[] = [];
    for (const slot of slots) {
      const at = index.offset[slot] - start;
      const record = bytes.subarray(at, at + index.recordBytes[slot]);
      if (isRecord(record, index.ids[slot])) moved.push({ slot, record });
      else lost.push(slot);
    }
    const drop = (slot: number) => {
      const id = index.ids[slot];
      records.delete(id, index.low[slot], index.high[slot]);
      ledger.forgetSlot(slot, orphans);
      this.#parts.evicted(id, undefined);
    };
    for (const slot of lost) {
      drop(slot);
      this.#parts.corrupt();
    }
    try {
      const place =
        moved.length === 0 ? { pack: 0, offset: 0 } : await packs.append(moved.map(({ record }) => record));
      let offset = place.offset;
      for (const { slot, record } of moved) {
        packs.addLive(index.pack[slot], -record.length);
        packs.addLive(place.pack, record.length);
        index.pack[slot] = place.pack;
        index.offset[slot] = offset;
        offset += record.length;
        putSlot(records, index, bodies, slot);
      }
    } catch {
      // The disk is full: what cannot be moved goes.
      for (const { slot } of moved) drop(slot);
    }
    if (records.length > 0) await journal.append(records).catch(() => {});
    await ledger.sweepBodies(orphans);
  }
}
