/**
 * Room on the disk: what is used, and how some of it becomes free.
 *
 * Everything counts as used: packs with their garbage, body files with their checksums, temporary
 * files, logs, the snapshot, and the next snapshot, which will be written while the old one is
 * still there. Deleted files that are still being read are not counted (open-files.ts says how much
 * that can be). Usage stays below the capacity minus the reserve (reserve-file.ts) and one pack,
 * which is the room that moving records needs. The capacity is smaller than configured while the
 * volume has no room for it (volume-limit.ts).
 *
 * When more is needed and some pack consists of garbage by a quarter or more, its live records are
 * moved and the file is deleted. Otherwise entries are evicted, least recently used first
 * (entry-index.ts), until there is such a pack or the body files deleted with them were enough. At
 * most about a quarter of the packs is therefore garbage, and at most four bytes are written to
 * free one. That worst case occurs only if uses are spread at random over the entries, because
 * entries of the same age lie in the same pack and are mostly evicted together. If no record is
 * ever requested again, whole packs become garbage and nothing is moved.
 *
 * Evictions are in the log before entries and files are deleted: an evicted entry must not reappear
 * after a crash, because a later removal would not have found it. If the log cannot be written
 * (other programs have filled the disk), the records are overwritten in place, which needs no room
 * (packs.ts); an entry without its record is dropped when it is requested. Where not even that
 * works, the entry stays, and so does its pack. Moved records may be missing in the log. Then a
 * start after a crash looks for them in a pack that is gone, and drops them. They are not outdated,
 * and the next snapshot has them (index-journal.ts).
 *
 * A body that is requested for the first time goes into a temporary file for its readers, and
 * evicts nothing (`tryHoldSpare`). A 32nd of the capacity is not given to entries, so that there is
 * room for such bodies when the store is full. They may take up to half of the free room; if they
 * took all of it, bodies that may evict would have to.
 */

import type { BodyTable } from './bodies/body-table.ts';
import { isRecord, recordKey } from './bodies/pack-record.ts';
import type { Packs } from './bodies/packs.ts';
import type { EntryIndex } from './index/entry-index.ts';
import { type IndexJournal, putSlot } from './index/index-journal.ts';
import { PUT_BYTES, PUT_WITH_BODY_BYTES, RecordBuffer } from './index/index-records.ts';
import type { Ledger } from './ledger.ts';
import { reserveBytes } from './reserve-file.ts';
import { VolumeLimit } from './volume-limit.ts';

export interface RoomParts {
  readonly capacityBytes: number;
  readonly index: EntryIndex;
  readonly bodies: BodyTable;
  readonly packs: Packs;
  readonly journal: IndexJournal;
  readonly ledger: Ledger;
  /** Whether listeners want the keys of evicted entries, which must then be read. */
  watched(): boolean;
  /**
   * An entry was evicted. `last`: nothing else is stored under the key. `key`: given if it was
   * wanted and could be read.
   */
  evicted(id: number, last: boolean, key: string | undefined): void;
  corrupt(id: number): void;
}

const GARBAGE_SHARE = 0.25;
const MOST_VICTIMS = 512;
const MOVE_BYTES = 1024 * 1024;

export class Room {
  readonly #parts: RoomParts;
  /** Bytes in temporary files, and those reserved for them or for a batch of changes. */
  heldBytes = 0;
  /** The same for bodies that may not evict anything. */
  spareBytes = 0;
  readonly #volume: VolumeLimit;

  constructor(parts: RoomParts) {
    this.#parts = parts;
    this.#volume = new VolumeLimit(parts.capacityBytes);
  }

  /** Limit for all bytes in the folder: the configured one, or what the volume has room for. */
  get capacityBytes(): number {
    return this.#volume.bytes;
  }

  /** The volume refused a write of `bytes` bytes. `hold(0)` evicts down to the new capacity. */
  refused(bytes: number, now: number): void {
    this.#volume.refused(this.used, bytes, now);
    this.#parts.packs.fit(this.capacityBytes);
  }

  /** The volume has room for `free` more bytes. */
  measured(free: number, now: number): void {
    const { packs, bodies, journal } = this.#parts;
    this.#volume.measured(packs.bytes + bodies.bytes + journal.bytes, free, now);
    packs.fit(this.capacityBytes);
  }

  /** Whether the volume should be measured again. */
  mayRise(now: number): boolean {
    return this.#volume.mayRise(now);
  }

  get used(): number {
    const { packs, bodies, journal, index } = this.#parts;
    const snapshot = index.count * PUT_BYTES + bodies.count * (PUT_WITH_BODY_BYTES - PUT_BYTES);
    return packs.bytes + bodies.bytes + this.heldBytes + this.spareBytes + journal.bytes + snapshot;
  }

  has(bytes: number): boolean {
    const kept = Math.max(0, this.#keptForSpare - this.spareBytes);
    return this.used + kept + bytes <= this.#limit;
  }

  /**
   * Reserves room for `bytes` bytes of a body that may not evict anything. Returns false if there
   * is none to spare.
   */
  tryHoldSpare(bytes: number): boolean {
    const free = this.#limit - (this.used - this.spareBytes);
    const most = Math.min(free, Math.max(this.#keptForSpare, free / 2));
    if (this.spareBytes + bytes > most) return false;
    this.spareBytes += bytes;
    return true;
  }

  /** Reserves room for `bytes` bytes if that needs no eviction. */
  tryHold(bytes: number): boolean {
    if (!this.has(bytes)) return false;
    this.heldBytes += bytes;
    return true;
  }

  /**
   * The same, with evictions. Only in a turn of the ledger (ledger.ts). Returns false if there is
   * nothing more to evict.
   */
  async hold(bytes: number): Promise<boolean> {
    const { packs } = this.#parts;
    if (bytes > 0 && bytes > this.#limit - this.#keptForSpare) return false;
    while (!this.tryHold(bytes)) {
      const pack = packs.mostGarbage(GARBAGE_SHARE);
      if (pack !== undefined && (await this.#compact(pack))) continue;
      if (!(await this.#evict(bytes))) return false;
    }
    return true;
  }

  get #limit(): number {
    const { packs, capacityBytes } = this.#parts;
    return this.capacityBytes - packs.packBytes - reserveBytes(capacityBytes);
  }

  get #keptForSpare(): number {
    return Math.floor(this.capacityBytes / 32);
  }

  async #evict(bytes: number): Promise<boolean> {
    const victims = this.#choose(bytes);
    const keys = new Map<number, string | undefined>();
    if (this.#parts.watched()) for (const slot of victims) keys.set(slot, await this.#keyOf(slot));
    return (await this.#letGo(victims, keys)) > 0;
  }

  /**
   * Writes the log first, then changes memory, because a caller that finds nothing stored relies on
   * the log. Returns the number of evicted entries.
   */
  async #letGo(slots: readonly number[], keys: ReadonlyMap<number, string | undefined>): Promise<number> {
    const { index, ledger } = this.#parts;
    const logged = await this.#logEvictions(slots);
    const orphans = new Set<number>();
    for (const slot of logged) {
      const id = index.ids[slot];
      const low = index.low[slot];
      const high = index.high[slot];
      ledger.forgetSlot(slot, orphans);
      this.#parts.evicted(id, index.first(low, high) < 0, keys.get(slot));
    }
    await ledger.sweepBodies(orphans);
    return logged.length;
  }

  /** The slots to evict for `bytes` bytes. */
  #choose(bytes: number): number[] {
    const { index, bodies } = this.#parts;
    const victims: number[] = [];
    const releases = new Map<number, number>();
    // Slightly more than needed, so that not every new entry has to do this again.
    const goal = Math.max(bytes, this.capacityBytes / 1024);
    let freed = 0;
    for (const slot of index.victims()) {
      if (freed >= goal || victims.length === MOST_VICTIMS) break;
      victims.push(slot);
      freed += index.recordBytes[slot];
      const body = index.body[slot];
      if (body === 0) continue;
      const released = (releases.get(body) ?? 0) + 1;
      releases.set(body, released);
      if (bodies.references(body) === released) freed += bodies.length(body);
    }
    return victims;
  }

  /** Makes sure that the entries do not reappear. Returns those for which that is certain. */
  async #logEvictions(slots: readonly number[]): Promise<readonly number[]> {
    const { index, packs, journal } = this.#parts;
    const records = new RecordBuffer();
    for (const slot of slots) records.delete(index.ids[slot], index.low[slot], index.high[slot]);
    if (records.length === 0) return slots;
    try {
      await journal.append(records);
      return slots;
    } catch {
      const scratched: number[] = [];
      for (const slot of slots) {
        const place = { pack: index.pack[slot], offset: index.offset[slot] };
        await packs.scratch(place).then(
          () => scratched.push(slot),
          () => {},
        );
      }
      return scratched;
    }
  }

  /** Nothing else changes meanwhile, so the slot stays valid. */
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

  /**
   * Moves the live records of a pack to the newest one, and deletes it. Returns false if some
   * records could be neither moved nor evicted; then they and the pack stay.
   */
  async #compact(pack: number): Promise<boolean> {
    const { index, packs } = this.#parts;
    const slots: number[] = [];
    for (let slot = 0; slot < index.bound; slot++) {
      if (index.used(slot) && index.pack[slot] === pack) slots.push(slot);
    }
    slots.sort((a, b) => index.offset[a] - index.offset[b]);
    let from = 0;
    let stay = 0;
    while (from < slots.length) {
      let to = from;
      const start = index.offset[slots[from]];
      const endOf = (slot: number) => index.offset[slot] + index.recordBytes[slot];
      while (to < slots.length && (to === from || endOf(slots[to]) - start <= MOVE_BYTES)) to++;
      stay += await this.#move(slots.slice(from, to), start, endOf(slots[to - 1]));
      from = to;
    }
    if (stay > 0) return false;
    await packs.remove(pack);
    return true;
  }

  /** Returns the number of records that stay. */
  async #move(slots: readonly number[], start: number, end: number): Promise<number> {
    const { index, bodies, packs, journal } = this.#parts;
    const bytes = await packs.read(index.pack[slots[0]], start, end - start).catch(() => Buffer.alloc(0));
    const good: { slot: number; record: Buffer }[] = [];
    const leaving: number[] = [];
    const keys = new Map<number, string>();
    for (const slot of slots) {
      const at = index.offset[slot] - start;
      const record = bytes.subarray(at, at + index.recordBytes[slot]);
      if (isRecord(record, index.ids[slot])) {
        good.push({ slot, record });
        continue;
      }
      leaving.push(slot);
      this.#parts.corrupt(index.ids[slot]);
    }
    const records = new RecordBuffer();
    try {
      const place =
        good.length === 0 ? { pack: 0, offset: 0 } : await packs.append(good.map(({ record }) => record));
      let offset = place.offset;
      for (const { slot, record } of good) {
        packs.addLive(index.pack[slot], -record.length);
        packs.addLive(place.pack, record.length);
        index.pack[slot] = place.pack;
        index.offset[slot] = offset;
        offset += record.length;
        putSlot(records, index, bodies, slot);
      }
    } catch {
      // The disk is full: records that cannot be moved are evicted.
      for (const { slot, record } of good) {
        leaving.push(slot);
        keys.set(slot, recordKey(record));
      }
    }
    const left = leaving.length === 0 ? 0 : await this.#letGo(leaving, keys);
    // If it fails, the old pack is deleted anyway, and with it the records that the log still
    // names.
    if (records.length > 0) await journal.append(records).catch(() => {});
    return leaving.length - left;
  }
}
