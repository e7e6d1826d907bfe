/**
 * The index on disk: a snapshot, and logs of the changes since.
 *
 * ```
 * index/snapshot-00000007     all entries, as of the beginning of log 7
 * index/log-00000007          frames of changes, in order
 * index/log-00000008          …
 * ```
 *
 * A start reads the newest snapshot and the logs from its number on, each as fixed-size records
 * (index-records.ts); no head is parsed. A log is never written to again after a restart: each
 * start begins a new one.
 *
 * A snapshot is written while changes go on. First a new log replaces the current one, then the
 * slots are written piece by piece in their current state, then the file is synced and renamed, and
 * only then are older files deleted. Entries that were added or removed meanwhile may be in it or
 * not. The new log has all of these changes, and adding an existing entry or deleting a missing one
 * does no harm.
 *
 * After a crash, an incomplete frame was not acknowledged, and is ignored. Damage inside a log (bit
 * rot, or a power failure that wrote a later page and not an earlier one) may have hidden removals,
 * and a removed response must not reappear: everything before the hole is forgotten, which a cache
 * may do. A damaged snapshot only lacks entries; its holes are skipped.
 *
 * On a full disk, a frame that cannot be written (or synced, where that is required) is taken back,
 * and the caller must do without it (ledger.ts, room.ts). As soon as frames can be written again, a
 * snapshot brings the disk up to the state in memory.
 *
 * Snapshots are synced before older files are deleted; logs are synced only if the store was told
 * to (`syncRemovals`). A killed process loses nothing that was acknowledged, because the page cache
 * outlives it. After a power failure the end of a log may be missing, with the entries and removals
 * in it.
 */

import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BodyTable } from '../bodies/body-table.ts';
import { closeFile, openFile, syncAll, syncData, truncateFile, writeFully } from '../file-io.ts';
import type { EntryIndex } from './entry-index.ts';
import {
  FRAME_HEADER_BYTES,
  frameAt,
  type IndexReplay,
  MOST_FRAME_BYTES,
  nextFrame,
  PUT_BYTES,
  RecordBuffer,
  replayFrame,
} from './index-records.ts';

export interface JournalReplay extends IndexReplay {
  /** Called with the approximate number of entries that follow. */
  expect?(count: number): void;
  /** The records replayed so far cannot be trusted. */
  forget(): void;
}

/** Maximum bytes of records in one frame of a snapshot, and thus the cost of a damaged frame. */
const SNAPSHOT_FRAME_BYTES = 64 * 1024;
const READ_BYTES = 4 * 1024 * 1024;
/** Below this size, a log is not worth a snapshot. */
const LEAST_LOG_BYTES = 4 * 1024 * 1024;

export class IndexJournal {
  readonly #folder: string;
  readonly #leastLogBytes: number;
  #number = 0;
  #fd = -1;
  #position = 0;
  /** Bytes of all logs that the next start has to read. */
  #logBytes = 0;
  #snapshotBytes = 0;
  #failedAt = 0;
  /** Bytes of the logs when a frame could not be written, or Infinity if that has not happened. */
  #gapAt = Number.POSITIVE_INFINITY;
  #snapshotting: Promise<void> | null = null;

  constructor(folder: string, capacityBytes: number) {
    this.#folder = folder;
    this.#leastLogBytes = Math.min(LEAST_LOG_BYTES, Math.max(4096, Math.floor(capacityBytes / 64)));
  }

  /** Bytes on the disk. */
  get bytes(): number {
    return this.#logBytes + this.#snapshotBytes;
  }

  /** Reads the existing files, and begins a new log. Returns whether all of them were undamaged. */
  async open(replay: JournalReplay): Promise<boolean> {
    const { snapshots, logs, others } = this.#files();
    let good = true;
    const base = snapshots.at(-1);
    if (base !== undefined) {
      const path = this.#path('snapshot', base);
      replay.expect?.(Math.ceil(statSync(path).size / PUT_BYTES));
      this.#snapshotBytes = readFrames(path, base, replay, () => {
        good = false;
      });
    }
    let expected = base;
    for (const log of logs.filter((number) => base === undefined || number >= base)) {
      // A missing log is a hole as well.
      if (expected !== undefined && log !== expected) {
        good = false;
        replay.forget();
      }
      expected = log + 1;
      this.#logBytes += readFrames(this.#path('log', log), log, replay, () => {
        good = false;
        replay.forget();
      });
    }
    await this.#remove([
      ...others,
      ...snapshots.slice(0, -1).map((number) => this.#path('snapshot', number)),
      ...logs
        .filter((number) => base !== undefined && number < base)
        .map((number) => this.#path('log', number)),
    ]);
    // The new log begins behind all existing ones. If it reused a number before a hole, the next
    // start would forget its records as well.
    await this.#begin(Math.max(base ?? 0, logs.at(-1) ?? 0) + 1);
    return good;
  }

  /** Writes the records as one frame. Once it resolves, a killed process does not lose them. */
  async append(records: RecordBuffer, sync = false): Promise<void> {
    const frame = records.take(this.#number);
    const fd = this.#fd;
    try {
      await writeFully(fd, [frame], this.#position);
      if (sync) await syncData(fd);
    } catch (error) {
      this.#gapAt = Math.min(this.#gapAt, this.#logBytes);
      // Half a frame followed by another one would be a hole, and a complete frame that is not
      // synced would apply changes that were reported as failed.
      await truncateFile(fd, this.#position);
      throw error;
    }
    this.#position += frame.length;
    this.#logBytes += frame.length;
  }

  get wantsSnapshot(): boolean {
    if (this.#snapshotting !== null) return false;
    // Frames can be written again: changes that are missing in the logs should be on the disk
    // before a crash.
    if (this.#failedAt === 0 && this.#logBytes > this.#gapAt) return true;
    return this.#logBytes > Math.max(this.#leastLogBytes, this.#snapshotBytes / 2, 1.5 * this.#failedAt);
  }

  /**
   * Begins a new log, between two frames, and a snapshot, which continues while frames are
   * appended.
   */
  async snapshot(index: EntryIndex, bodies: BodyTable): Promise<void> {
    await this.#begin(this.#number + 1);
    const before = this.#logBytes;
    const number = this.#number;
    const gapAt = this.#gapAt;
    this.#gapAt = Number.POSITIVE_INFINITY;
    this.#snapshotting = this.#writeSnapshot(number, index, bodies)
      .then((bytes) => {
        this.#snapshotBytes = bytes;
        this.#logBytes -= before;
        // The snapshot may lack changes of a frame that failed meanwhile.
        this.#gapAt -= before;
        this.#failedAt = 0;
      })
      .catch((error) => {
        // The disk may be full, so do not try again at each change.
        this.#failedAt = this.#logBytes;
        this.#gapAt = Math.min(this.#gapAt, gapAt);
        throw error;
      })
      .finally(() => {
        this.#snapshotting = null;
      });
    this.#snapshotting.catch(() => {});
  }

  /**
   * Waits for a running snapshot. Rejects if it failed; then the older one and its logs are still
   * there.
   */
  async settled(): Promise<void> {
    await this.#snapshotting;
  }

  close(): void {
    if (this.#fd >= 0) closeFile(this.#fd);
    this.#fd = -1;
  }

  async #begin(number: number): Promise<void> {
    const fd = await openFile(this.#path('log', number), 'wx');
    this.close();
    this.#fd = fd;
    this.#number = number;
    this.#position = 0;
  }

  async #writeSnapshot(number: number, index: EntryIndex, bodies: BodyTable): Promise<number> {
    const path = this.#path('snapshot', number);
    const temporary = `${path}.tmp`;
    const fd = await openFile(temporary, 'w');
    let position = 0;
    try {
      const records = new RecordBuffer();
      let slot = 0;
      while (slot < index.bound) {
        for (; slot < index.bound && records.length < SNAPSHOT_FRAME_BYTES; slot++) {
          if (index.used(slot)) putSlot(records, index, bodies, slot);
        }
        if (records.length === 0) break;
        const frame = records.take(number);
        await writeFully(fd, [frame], position);
        position += frame.length;
      }
      await syncAll(fd);
    } catch (error) {
      await this.#remove([temporary]);
      throw error;
    } finally {
      closeFile(fd);
    }
    await rename(temporary, path);
    const { snapshots, logs } = this.#files();
    await this.#remove([
      ...snapshots.filter((other) => other < number).map((other) => this.#path('snapshot', other)),
      ...logs.filter((other) => other < number).map((other) => this.#path('log', other)),
    ]);
    return position;
  }

  #files(): { snapshots: number[]; logs: number[]; others: string[] } {
    const snapshots: number[] = [];
    const logs: number[] = [];
    const others: string[] = [];
    for (const name of readdirSync(this.#folder)) {
      const match = /^(snapshot|log)-(\d{8,})$/.exec(name);
      if (match === null) others.push(join(this.#folder, name));
      else (match[1] === 'log' ? logs : snapshots).push(Number(match[2]));
    }
    const ascending = (a: number, b: number) => a - b;
    return { snapshots: snapshots.sort(ascending), logs: logs.sort(ascending), others };
  }

  async #remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) await rm(path, { force: true, recursive: true });
  }

  #path(kind: 'snapshot' | 'log', number: number): string {
    return join(this.#folder, `${kind}-${String(number).padStart(8, '0')}`);
  }
}

/** Appends the entry in a slot as a record. */
export function putSlot(records: RecordBuffer, index: EntryIndex, bodies: BodyTable, slot: number): void {
  const body = index.body[slot];
  const entry = {
    id: index.ids[slot],
    low: index.low[slot],
    high: index.high[slot],
    pack: index.pack[slot],
    offset: index.offset[slot],
    recordBytes: index.recordBytes[slot],
    body,
    recency: index.recency[slot],
  };
  if (body === 0) records.put(entry, null, 0);
  else records.put(entry, bodies.digest(body), bodies.length(body));
}

/**
 * Replays a file. An unreadable file counts as damaged, like one with wrong bytes, because a store
 * that does not open is useless.
 */
function readFrames(path: string, number: number, replay: IndexReplay, hole: () => void): number {
  try {
    return replayFile(path, number, replay, hole);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    hole();
    return 0;
  }
}

/** Reads frame by frame, through a window of some megabytes. Returns the size of the file. */
function replayFile(path: string, number: number, replay: IndexReplay, hole: () => void): number {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const window = Buffer.allocUnsafe(Math.min(size, READ_BYTES + FRAME_HEADER_BYTES + MOST_FRAME_BYTES));
    let base = 0;
    let at = 0;
    let filled = 0;
    const refill = () => {
      window.copyWithin(0, at, filled);
      filled -= at;
      base += at;
      at = 0;
      while (filled < window.length) {
        const count = readSync(fd, window, filled, window.length - filled, base + filled);
        if (count === 0) break;
        filled += count;
      }
    };
    while (base + at < size) {
      const left = size - base - at;
      if (filled - at < Math.min(left, FRAME_HEADER_BYTES + MOST_FRAME_BYTES)) refill();
      const state = frameAt(window, at, left, number);
      if (state.kind === 'torn') break;
      if (state.kind === 'frame' && replayFrame(window, at, number, replay)) {
        at += FRAME_HEADER_BYTES + state.bytes;
        continue;
      }
      hole();
      const found = nextFrame(window.subarray(0, filled), at + 1);
      // The last three bytes may be the beginning of a frame that is not in the window yet.
      at = found >= 0 ? found : base + filled >= size ? filled : Math.max(at + 1, filled - 3);
    }
    return size;
  } finally {
    closeSync(fd);
  }
}
