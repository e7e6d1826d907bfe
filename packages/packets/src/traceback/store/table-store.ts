/**
 * A folder of digest tables: one that is open in memory with its journal, and closed ones on disk,
 * the oldest of which are discarded when they exceed the budget of time or space.
 *
 * What it promises. A digest that was added is found until its table is discarded. After `kill -9`
 * at most the digests since the last `flush` are lost. A full disk costs the oldest tables and
 * never stops the collecting. A torn or foreign file is left out with a warning, and is not
 * removed.
 *
 * How a question is answered. Each closed table of the window is opened, and one block of 64 bytes
 * is read (1,030 tables of 1 MiB hold 864 million digests). Questions read in slices, with a turn
 * of the event loop between two of them, so packets are collected meanwhile.
 */

import { mkdirSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode, writeAtomically } from '@bloomery/files';
import type { KeyHash, SecretKey } from 'bloomery';
import { DigestTable, type TableShape, type TimeSpan } from '../tables/digest-table.ts';
import { type Budget, countToDiscard, isOver } from '../tables/rotation.ts';
import { answerOf, type SeenAnswer, type TableVerdict } from '../tables/table-answer.ts';
import {
  askTable,
  encodeTable,
  openTable,
  type StoredTable,
  type TableKind,
  verifyTable,
} from './table-file.ts';
import { readJournal, TableJournal } from './table-journal.ts';

export interface TableStoreOptions {
  readonly folder: string;
  readonly kind: TableKind;
  readonly key: SecretKey;
  /** Payload bytes in a digest; 0 for sources. */
  readonly payloadBytes: number;
  readonly shape: TableShape;
  /** The longest time that a table spans, in seconds. */
  readonly spanS: number;
  readonly budget: Budget;
  /** Called with a sentence about each file that was left out and each disk error. */
  readonly warn?: (message: string) => void;
}

/** The hash to ask for in tables with this many payload bytes, or null if it cannot be made. */
export type HashFor = (payloadBytes: number) => KeyHash | null;

const JOURNAL = 'open.journal';
const SUFFIX = '.digests';
/** Tables that are asked in one turn of the event loop. */
const TABLES_PER_TURN = 128;
/** The most digests that wait in memory for the journal. */
const MOST_WAITING = 1 << 20;

export class TableStore {
  readonly #options: TableStoreOptions;
  readonly #tables: StoredTable[] = [];
  #open: DigestTable;
  #journal: TableJournal | null = null;
  #sequence = 0;
  /** Time of the last packet of the table that was closed before. */
  #beforeS = Number.NEGATIVE_INFINITY;
  #discarded = 0;
  #lost = 0;
  #hasRoom = true;

  private constructor(options: TableStoreOptions) {
    this.#options = options;
    this.#open = new DigestTable(options.shape, options.key);
  }

  /** Opens a folder, or makes it. The caller holds a lock on it. */
  static open(options: TableStoreOptions): TableStore {
    mkdirSync(options.folder, { recursive: true });
    const store = new TableStore(options);
    store.#readFolder();
    store.#replay();
    store.#startJournal();
    return store;
  }

  /** Closed tables, the oldest first. */
  get tables(): readonly StoredTable[] {
    return this.#tables;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#tables.reduce((sum, { bytes }) => sum + bytes, this.#journal?.bytes ?? 0);
  }

  /** Tables that were discarded since the start. */
  get discarded(): number {
    return this.#discarded;
  }

  /** Tables that could not be written, because the disk had no room even without the others. */
  get lost(): number {
    return this.#lost;
  }

  /** Digests in the open table. */
  get openPackets(): number {
    return this.#open.packets;
  }

  /** Time from which on all packets are covered; infinite if there are none. */
  get coveredFromS(): number {
    return Math.min(this.#tables[0]?.firstS ?? Number.POSITIVE_INFINITY, this.#open.firstS);
  }

  /** Adds digests (lower and upper halves in turn), with the time of each in seconds. */
  add(words: Int32Array, times: Float64Array): void {
    const { spanS } = this.#options;
    let { firstS, lastS } = spanOf(times, 0, times.length);
    // Nearly all batches lie within the span of the open table.
    const open = this.#open;
    if (Math.max(lastS, open.lastS) - Math.min(firstS, open.firstS) < spanS) {
      this.#put(words, times, 0, times.length);
      return;
    }
    let from = 0;
    firstS = Math.min(open.firstS, times[0]);
    lastS = Math.max(open.lastS, times[0]);
    for (let i = 0; i < times.length; i++) {
      const timeS = times[i];
      if (isOver({ firstS, lastS }, timeS, spanS)) {
        this.#put(words, times, from, i);
        this.closeTable();
        from = i;
        firstS = timeS;
        lastS = timeS;
      } else if (timeS > lastS) {
        lastS = timeS;
      } else if (timeS < firstS) {
        firstS = timeS;
      }
    }
    this.#put(words, times, from, times.length);
  }

  /** Writes the journal. To be called several times a second. */
  flush(): void {
    const journal = this.#journal;
    if (journal !== null) this.#withRoom('the journal', () => journal.flush());
  }

  /** Closes the open table, if it holds anything, and begins another. */
  closeTable(): void {
    if (this.#open.packets === 0) return;
    const { folder, kind, payloadBytes, budget, key, shape } = this.#options;
    const parts = encodeTable(this.#open, { sequence: this.#sequence, kind, payloadBytes });
    const bytes = parts[0].length + parts[1].length;
    // A leap in time that would discard everything counts only once the next table confirms it. A
    // single packet whose clock is decades ahead has a table to itself and is not confirmed.
    const { firstS, lastS } = this.#open;
    const nowS = firstS - this.#beforeS > budget.seconds ? this.#beforeS : lastS;
    this.#beforeS = lastS;
    this.#discard(countToDiscard(this.#tables, budget, bytes, nowS));
    const path = join(folder, `${String(this.#sequence).padStart(12, '0')}${SUFFIX}`);
    if (this.#withRoom(path, () => writeAtomically(path, parts))) this.#tables.push(openTable(path, key));
    else this.#lost++;
    this.#sequence++;
    this.#open = new DigestTable(shape, key);
    this.#journal?.close();
    this.#journal = null;
    this.#startJournal();
  }

  /** Asks all tables that touch the window. */
  async ask(hashFor: HashFor, window: TimeSpan): Promise<SeenAnswer> {
    const verdicts: TableVerdict[] = [];
    const touched = this.#tables.filter((table) => touches(table, window));
    // The open table is asked first: between two slices it may be closed and go to disk.
    const open = this.#openVerdict(hashFor, window);
    for (const [i, table] of touched.entries()) {
      if (i > 0 && i % TABLES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
      const { firstS, lastS, chanceRate } = table;
      const hash = hashFor(table.payloadBytes);
      if (hash === null) continue;
      try {
        verdicts.push({ firstS, lastS, chanceRate, seen: askTable(table, hash, this.#options.key) });
      } catch (error) {
        // The table was discarded between two slices.
        if (errorCode(error) !== 'ENOENT') throw error;
      }
    }
    if (open !== null) verdicts.push(open);
    return answerOf(verdicts);
  }

  /** Compares the checksums of all closed tables, and leaves damaged ones out. */
  async verify(signal?: AbortSignal): Promise<number> {
    let damaged = 0;
    for (const table of [...this.#tables]) {
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted) break;
      const index = this.#tables.indexOf(table);
      if (index < 0) continue;
      try {
        verifyTable(table, this.#options.key);
      } catch (error) {
        this.#tables.splice(index, 1);
        damaged++;
        this.#warn(`${(error as Error).message}; it is left out`);
        this.#setAside(table.path);
      }
    }
    return damaged;
  }

  /** Gives a damaged file another name, so that the next start does not read it. */
  #setAside(path: string): void {
    try {
      renameSync(path, `${path}.damaged`);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') this.#warn(`${path} keeps its name: ${(error as Error).message}`);
    }
  }

  /** Writes the journal and closes it; the open table goes on after the next start. */
  close(): void {
    this.flush();
    this.#journal?.close();
    this.#journal = null;
  }

  /** The verdict of the open table, or null if it has nothing in the window. */
  #openVerdict(hashFor: HashFor, window: TimeSpan): TableVerdict | null {
    const open = this.#open;
    const hash = hashFor(this.#options.payloadBytes);
    if (hash === null || open.packets === 0 || !touches(open, window)) return null;
    const { firstS, lastS } = open;
    return { firstS, lastS, chanceRate: open.chanceRate(), seen: open.has(hash) };
  }

  /** Adds digests in steps, so that a table is closed as soon as it is full. */
  #put(words: Int32Array, times: Float64Array, from: number, to: number): void {
    const { scheme } = this.#options.key;
    const step = Math.max(64, this.#options.shape.capacity >> 6);
    for (let at = from; at < to; at += step) {
      const end = Math.min(to, at + step);
      const part = words.subarray(2 * at, 2 * end);
      const span = spanOf(times, at, end);
      this.#open.add({ scheme, words: part, length: end - at }, span);
      this.#journal?.add(part, span);
      if (this.#open.isFull) this.closeTable();
    }
    if ((this.#journal?.waiting ?? 0) > MOST_WAITING) this.flush();
  }

  #readFolder(): void {
    const { folder, key, kind } = this.#options;
    for (const name of readdirSync(folder).sort()) {
      if (!name.endsWith(SUFFIX)) continue;
      // A number that was used is not used again, even if its file is damaged.
      const number = Number.parseInt(name, 10);
      if (Number.isSafeInteger(number)) this.#sequence = Math.max(this.#sequence, number + 1);
      try {
        const table = openTable(join(folder, name), key);
        if (table.kind !== kind) continue;
        this.#tables.push(table);
        this.#beforeS = table.lastS;
      } catch (error) {
        this.#warn(`${(error as Error).message}; it is left out`);
      }
    }
  }

  /** Brings back the digests of a table that was open when the collector was killed. */
  #replay(): void {
    const { folder, key, kind, payloadBytes } = this.#options;
    const journal = readJournal(join(folder, JOURNAL));
    if (journal === null || journal.head.kind !== kind) return;
    const { head, records, isTorn } = journal;
    if (isTorn) this.#warn(`the journal in ${folder} ends in the middle of a record; the record is lost`);
    // The table was written, and the collector was killed before it began another journal.
    if (head.sequence < this.#sequence) return;
    this.#sequence = head.sequence;
    if (head.payloadBytes !== payloadBytes) {
      // The setting changed meanwhile, and such digests cannot go into the new tables.
      this.#warn(
        `the journal in ${folder} has digests of ${head.payloadBytes} payload bytes; it is left out`,
      );
      this.#sequence++;
      return;
    }
    for (const { words, firstS, lastS } of records) {
      this.#open.add({ scheme: key.scheme, words, length: words.length / 2 }, { firstS, lastS });
    }
  }

  /** Begins a journal with the digests that the open table already holds, after a restart. */
  #startJournal(): void {
    const { folder, kind, payloadBytes, shape } = this.#options;
    const path = join(folder, JOURNAL);
    const old = this.#open.packets > 0 ? readJournal(path) : null;
    const head = { kind, payloadBytes, sequence: this.#sequence, blocks: shape.blocks, hashes: shape.hashes };
    this.#withRoom('the journal', () => {
      this.#journal = TableJournal.start(path, head, old?.records);
    });
  }

  /** Writes, and discards the oldest tables while the disk is full. False if nothing helped. */
  #withRoom(what: string, write: () => void): boolean {
    for (;;) {
      try {
        write();
        this.#hasRoom = true;
        return true;
      } catch (error) {
        const code = errorCode(error);
        if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
        if (this.#tables.length === 0) {
          // The journal is tried several times a second, and one warning is enough.
          if (this.#hasRoom) this.#warn(`no room for ${what}, and no older table to discard`);
          this.#hasRoom = false;
          return false;
        }
        this.#discard(1);
      }
    }
  }

  #discard(count: number): void {
    for (const { path } of this.#tables.splice(0, count)) {
      this.#discarded++;
      try {
        unlinkSync(path);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
      }
    }
  }

  #warn(message: string): void {
    this.#options.warn?.(message);
  }
}

/** The earliest and the latest of some times. */
function spanOf(times: Float64Array, from: number, to: number): TimeSpan {
  let firstS = Number.POSITIVE_INFINITY;
  let lastS = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) {
    const timeS = times[i];
    if (timeS < firstS) firstS = timeS;
    if (timeS > lastS) lastS = timeS;
  }
  return { firstS, lastS };
}

function touches(table: TimeSpan, window: TimeSpan): boolean {
  return table.firstS <= window.lastS && table.lastS >= window.firstS;
}
