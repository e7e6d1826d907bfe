/**
 * The one place where changes are made: on the disk and in memory, in the same order.
 *
 * Changes wait in a queue and are done in batches. A batch takes all changes that wait when it
 * begins, as long as no two concern the same key (the second must see the result of the first). A
 * batch of any size makes two writes:
 *
 * ```
 * 1. bodies:  rename from tmp/ to their place
 *             a crash after this leaves a file without references: swept at the next start
 * 2. pack:    all new records, one write
 *             a crash after this leaves garbage at the end of a pack
 * 3. log:     all changes, one frame, one write
 *             from here on the changes survive a crash
 * 4. memory:  index and body table, and listeners are told; promises resolve
 * 5. files without references are deleted
 *             a crash before this leaves them: swept at the next start
 * ```
 *
 * A removal is in the log before any caller is told, so it cannot be undone by a crash. An entry is
 * in the log after its bytes are in their files, so it is never torn. If the log cannot be written
 * (the disk is full), new entries are not kept, and removed records are overwritten in place, which
 * needs no room.
 */

import { mkdir, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '@bloomery/files';
import type { BodyTable } from './bodies/body-table.ts';
import type { OpenFiles } from './bodies/open-files.ts';
import type { Packs, Place } from './bodies/packs.ts';
import type { EntryIndex } from './index/entry-index.ts';
import type { IndexJournal } from './index/index-journal.ts';
import { RecordBuffer } from './index/index-records.ts';

/** A change that waits for its turn. */
export interface Change {
  /** The hash of the key that it concerns. */
  readonly low: number;
  readonly high: number;
  /** The maximum number of bytes that it adds. */
  readonly bytes: number;
  /** Decides what to do when its turn has come; null means nothing. */
  decide(): Step | null | Promise<Step | null>;
  failed(error: unknown): void;
}

export interface Step {
  readonly put: NewEntry | null;
  /** Numbers of entries under the same hash. */
  readonly remove: readonly number[];
  /**
   * Called when the step is done. If not `kept`, the new entry is not stored and nothing was
   * removed.
   */
  done(kept: boolean): void;
}

interface NewEntry {
  readonly id: number;
  readonly record: Buffer;
  /**
   * The body file, or null if the body is in the record. `path` is the temporary file, or null if
   * the body is already in its place.
   */
  readonly body: {
    readonly digest: Uint8Array;
    readonly length: number;
    readonly path: string | null;
  } | null;
}

export interface LedgerParts {
  readonly folder: string;
  readonly index: EntryIndex;
  readonly bodies: BodyTable;
  readonly packs: Packs;
  readonly journal: IndexJournal;
  readonly files: OpenFiles;
  readonly syncRemovals: boolean;
  /** Called before a batch, in turn: reserves room for `bytes` bytes, or returns false. */
  holdRoom(bytes: number): boolean | Promise<boolean>;
  /** The bytes are in a pack now, or never will be. */
  releaseRoom(bytes: number): void;
  /** A write of up to `bytes` bytes failed. */
  writeFailed(error: unknown, bytes: number): void;
}

interface Staged {
  readonly change: Change;
  readonly step: Step;
  place: Place | null;
  failed: boolean;
}

const MOST_IN_BATCH = 64;

export class Ledger {
  readonly #parts: LedgerParts;
  readonly #waiting: (Change | (() => Promise<void>))[] = [];
  #running: Promise<void> | null = null;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  submit(change: Change): void {
    this.#waiting.push(change);
    this.#running ??= this.#run();
  }

  /** Runs a task between two batches. */
  turn<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => work().then(resolve, reject));
      this.#running ??= this.#run();
    });
  }

  /**
   * Removes an entry from memory. `sweepBodies` deletes its body file, once the log has the
   * removal.
   */
  forgetSlot(slot: number, orphans: Set<number>): void {
    const { index, bodies, packs } = this.#parts;
    packs.addLive(index.pack[slot], -index.recordBytes[slot]);
    const body = index.body[slot];
    if (body !== 0 && bodies.release(body) === 0) orphans.add(body);
    index.delete(slot);
  }

  /** Deletes body files without references. */
  async sweepBodies(orphans: Iterable<number>): Promise<void> {
    const { bodies, files } = this.#parts;
    const deletions: Promise<void>[] = [];
    for (const body of orphans) {
      if (bodies.references(body) > 0) continue;
      const name = bodies.name(body);
      bodies.delete(body);
      files.forget(name);
      // A file that cannot be deleted is swept at a later start.
      deletions.push(unlink(this.bodyPath(name)).catch(() => {}));
    }
    await Promise.all(deletions);
  }

  bodyPath(name: string): string {
    return join(this.#parts.folder, 'bodies', name.slice(0, 2), name);
  }

  async #run(): Promise<void> {
    // Starts in a turn of its own, so that changes that are submitted together form one batch.
    await null;
    while (this.#waiting.length > 0) {
      const first = this.#waiting[0];
      if (typeof first === 'function') {
        this.#waiting.shift();
        await first();
        continue;
      }
      const batch = this.#takeBatch();
      try {
        await this.#batch(batch);
      } catch (error) {
        for (const change of batch) change.failed(error);
      }
    }
    this.#running = null;
  }

  #takeBatch(): Change[] {
    const batch: Change[] = [];
    let bytes = 0;
    while (batch.length < MOST_IN_BATCH) {
      const change = this.#waiting[0];
      if (change === undefined || typeof change === 'function') break;
      if (batch.some(({ low, high }) => low === change.low && high === change.high)) break;
      bytes += change.bytes;
      if (batch.length > 0 && bytes > this.#parts.packs.packBytes) break;
      batch.push(change);
      this.#waiting.shift();
    }
    return batch;
  }

  async #batch(batch: readonly Change[]): Promise<void> {
    const { journal, index, bodies } = this.#parts;
    let bytes = 0;
    for (const change of batch) bytes += change.bytes;
    // Room is reserved before anything is decided, because an entry must not be evicted between a
    // decision and its execution.
    const room = bytes === 0 || (await this.#parts.holdRoom(bytes));
    // All changes are decided at once: they have different keys, and deciding only reads.
    const decided = await Promise.all(batch.map((change) => this.#decide(change, room)));
    const staged = decided.filter((stage) => stage !== null);
    const orphans = new Set<number>();
    await this.#placeBodies(staged, orphans);
    await this.#placeRecords(staged);
    if (room) this.#parts.releaseRoom(bytes);
    await this.#log(staged);
    for (const stage of staged) {
      this.#apply(stage, orphans);
      // This follows in the same turn, because a listener that is told of a key must find it, and a
      // caller must not find a key before listeners are told (`has` in response-store.ts).
      stage.step.done(!stage.failed);
    }
    await this.sweepBodies(orphans);
    if (journal.wantsSnapshot) await journal.snapshot(index, bodies).catch(() => {});
  }

  async #decide(change: Change, room: boolean): Promise<Staged | null> {
    try {
      const step = await change.decide();
      return step && { change, step, place: null, failed: step.put !== null && !room };
    } catch (error) {
      change.failed(error);
      return null;
    }
  }

  async #placeBodies(staged: readonly Staged[], orphans: Set<number>): Promise<void> {
    await Promise.all(
      staged.map(async (stage) => {
        const body = stage.step.put?.body;
        if (stage.failed || !body || body.path === null) return;
        const name = Buffer.from(body.digest).toString('hex');
        try {
          await moveFile(body.path, this.bodyPath(name));
        } catch (error) {
          this.#parts.writeFailed(error, stage.change.bytes);
          stage.failed = true;
          return;
        }
        // An equal body that was already there is replaced, because this one is known to be good.
        const { bodies, files } = this.#parts;
        const number = bodies.add(body.digest, body.length);
        bodies.renew(number);
        files.forget(name);
        orphans.add(number);
      }),
    );
  }

  async #placeRecords(staged: readonly Staged[]): Promise<void> {
    const { packs } = this.#parts;
    const puts = staged.filter(({ step, failed }) => step.put !== null && !failed);
    if (puts.length === 0) return;
    try {
      const { pack, offset } = await packs.append(puts.map(({ step }) => step.put!.record));
      let at = offset;
      for (const stage of puts) {
        stage.place = { pack, offset: at };
        at += stage.step.put!.record.length;
      }
    } catch (error) {
      let bytes = 0;
      for (const stage of puts) {
        stage.failed = true;
        bytes += stage.change.bytes;
      }
      this.#parts.writeFailed(error, bytes);
    }
  }

  async #log(staged: readonly Staged[]): Promise<void> {
    const { journal, index, syncRemovals } = this.#parts;
    const records = new RecordBuffer();
    let removals = false;
    for (const { change, step, place, failed } of staged) {
      if (failed) continue;
      const { low, high } = change;
      for (const id of step.remove) {
        records.delete(id, low, high);
        removals = true;
      }
      if (step.put === null) continue;
      const { id, record, body } = step.put;
      const recordBytes = record.length;
      const entry = { id, low, high, ...place!, recordBytes, body: 0, recency: index.tick() };
      records.put(entry, body?.digest ?? null, body?.length ?? 0);
    }
    if (records.length === 0) return;
    try {
      await journal.append(records, removals && syncRemovals);
    } catch (error) {
      this.#parts.writeFailed(error, 0);
      for (const stage of staged) {
        if (stage.step.put !== null) stage.failed = true;
        else if (!stage.failed) await this.#scratch(stage, error);
      }
    }
  }

  async #scratch(stage: Staged, error: unknown): Promise<void> {
    const { index, packs } = this.#parts;
    const { low, high } = stage.change;
    try {
      for (const id of stage.step.remove) {
        const slot = index.find(id, low, high);
        if (slot >= 0) await packs.scratch({ pack: index.pack[slot], offset: index.offset[slot] });
      }
    } catch {
      stage.failed = true;
      stage.change.failed(error);
    }
  }

  #apply({ change, step, place, failed }: Staged, orphans: Set<number>): void {
    if (failed) return;
    const { index, bodies, packs } = this.#parts;
    const { low, high } = change;
    for (const id of step.remove) {
      const slot = index.find(id, low, high);
      if (slot >= 0) this.forgetSlot(slot, orphans);
    }
    if (step.put === null || place === null) return;
    const { id, record } = step.put;
    const body = step.put.body === null ? 0 : bodies.add(step.put.body.digest, step.put.body.length);
    if (body !== 0) bodies.retain(body);
    const known = index.find(id, low, high);
    // The same entry with a new head: its old record is garbage now, and the new reference to the
    // body replaces the old one.
    if (known >= 0) {
      packs.addLive(index.pack[known], -index.recordBytes[known]);
      if (index.body[known] !== 0) bodies.release(index.body[known]);
    }
    packs.addLive(place.pack, record.length);
    index.put({ id, low, high, ...place, recordBytes: record.length, body, recency: index.tick() });
  }
}

async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    await mkdir(dirname(to), { recursive: true });
    await rename(from, to);
  }
}
