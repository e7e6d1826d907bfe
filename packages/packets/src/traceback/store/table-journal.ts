/**
 * The journal of the open table: the digests since it was opened, so that a collector that is
 * killed finds them again.
 *
 * Digests are appended several times a second, 8 bytes each, in records with a checksum. After
 * `kill -9` the kernel still writes what it was given, so at most the digests since the last record
 * are lost. A record that is torn ends the reading. There is no fsync: after a power failure the
 * last seconds of the journal may be missing as well, and closed tables, which are flushed, stay.
 *
 * We refused to write the open table itself every second: 1 MiB each time, where a link with 10,000
 * packets per second appends 80 kB.
 *
 *     head     'BLMJ', version, kind, payload bytes (2), number of the table (8), blocks (4),
 *              hashes (4), 8 zero bytes, CRC-32
 *     record   digests (4), first and last time (8, 8), the digests, CRC-32 of all before
 */

import { closeSync, ftruncateSync, openSync, readFileSync, renameSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { writeAll } from '@bloomery/files';
import type { TimeSpan } from '../tables/digest-table.ts';
import type { TableFacts, TableKind } from './table-file.ts';

const KINDS: readonly TableKind[] = ['packets', 'sources'];
const MAGIC = 0x424c4d4a; // 'BLMJ'
const VERSION = 1;
const HEAD_BYTES = 36;
const RECORD_HEAD_BYTES = 20;
const CRC_BYTES = 4;
const FIRST_RECORD_BYTES = 1 << 16;

/** The table that a journal belongs to. */
export interface JournalHead extends TableFacts {
  readonly blocks: number;
  readonly hashes: number;
}

interface JournalRecord extends TimeSpan {
  /** Lower and upper half of each digest in turn. */
  readonly words: Int32Array;
}

export interface ReadJournal {
  readonly head: JournalHead;
  readonly records: readonly JournalRecord[];
  /** Whether bytes at the end were not a whole record. */
  readonly isTorn: boolean;
}

/** Reads a journal, or null if there is none that begins with a whole head. */
export function readJournal(path: string): ReadJournal | null {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return decodeJournal(bytes);
}

export function decodeJournal(bytes: Uint8Array): ReadJournal | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEAD_BYTES || view.getUint32(0) !== MAGIC || bytes[4] !== VERSION) return null;
  if (view.getUint32(HEAD_BYTES - CRC_BYTES, true) !== crc32(bytes.subarray(0, HEAD_BYTES - CRC_BYTES)))
    return null;
  const kind = KINDS[bytes[5] - 1];
  if (kind === undefined) return null;
  const records: JournalRecord[] = [];
  let at = HEAD_BYTES;
  for (;;) {
    if (bytes.length - at < RECORD_HEAD_BYTES + CRC_BYTES) break;
    const count = view.getUint32(at, true);
    const end = at + RECORD_HEAD_BYTES + 8 * count;
    if (end + CRC_BYTES > bytes.length) break;
    if (view.getUint32(end, true) !== crc32(bytes.subarray(at, end))) break;
    records.push({
      firstS: view.getFloat64(at + 4, true),
      lastS: view.getFloat64(at + 12, true),
      // A copy, because the digests do not lie at a multiple of four bytes.
      words: new Int32Array(Uint8Array.from(bytes.subarray(at + RECORD_HEAD_BYTES, end)).buffer),
    });
    at = end + CRC_BYTES;
  }
  const head = {
    kind,
    payloadBytes: view.getUint16(6, true),
    sequence: view.getFloat64(8, true),
    blocks: view.getUint32(16, true),
    hashes: view.getUint32(20, true),
  };
  return { head, records, isTorn: at < bytes.length };
}

export class TableJournal {
  readonly #path: string;
  #file: number;
  #bytes = 0;
  /** The next record: room for its head, digests that wait, room for its checksum. */
  #record = new Uint8Array(FIRST_RECORD_BYTES);
  #words = new Int32Array(this.#record.buffer, RECORD_HEAD_BYTES);
  #used = 0;
  #firstS = Number.POSITIVE_INFINITY;
  #lastS = Number.NEGATIVE_INFINITY;

  private constructor(path: string, file: number) {
    this.#path = path;
    this.#file = file;
  }

  /**
   * Starts the journal of a table in the place of the one before. Records that the table already
   * holds are in the new one before it takes the place, so a kill at any moment loses none of them.
   */
  static start(path: string, head: JournalHead, records: readonly JournalRecord[] = []): TableJournal {
    const beside = `${path}.new`;
    const file = openSync(beside, 'w');
    const journal = new TableJournal(path, file);
    try {
      writeAll(file, encodeHead(head));
      journal.#bytes = HEAD_BYTES;
      for (const { words, ...span } of records) {
        journal.add(words, span);
        journal.#write();
      }
    } catch (error) {
      closeSync(file);
      throw error;
    }
    renameSync(beside, path);
    return journal;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Notes digests; `flush` writes them. */
  add(words: Int32Array, { firstS, lastS }: TimeSpan): void {
    const needed = this.#used + words.length;
    // One word is left for the checksum.
    if (needed >= this.#words.length) {
      const record = new Uint8Array(RECORD_HEAD_BYTES + 8 * needed);
      record.set(this.#record.subarray(0, RECORD_HEAD_BYTES + 4 * this.#used));
      this.#record = record;
      this.#words = new Int32Array(record.buffer, RECORD_HEAD_BYTES);
    }
    this.#words.set(words, this.#used);
    this.#used += words.length;
    this.#firstS = Math.min(this.#firstS, firstS);
    this.#lastS = Math.max(this.#lastS, lastS);
  }

  /** Bytes that wait for `flush`. */
  get waiting(): number {
    return 4 * this.#used;
  }

  /** Writes the digests. After an error they still wait, and half a record is undone. */
  flush(): void {
    if (this.#used === 0) return;
    try {
      this.#write();
    } catch (error) {
      ftruncateSync(this.#file, this.#bytes);
      // The next write would leave a hole, so the file is opened at its end again.
      closeSync(this.#file);
      this.#file = openSync(this.#path, 'a');
      throw error;
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Writes the digests that wait as one record. */
  #write(): void {
    const end = RECORD_HEAD_BYTES + 4 * this.#used;
    const view = new DataView(this.#record.buffer);
    view.setUint32(0, this.#used / 2, true);
    view.setFloat64(4, this.#firstS, true);
    view.setFloat64(12, this.#lastS, true);
    view.setUint32(end, crc32(this.#record.subarray(0, end)), true);
    writeAll(this.#file, this.#record.subarray(0, end + CRC_BYTES));
    this.#bytes += end + CRC_BYTES;
    this.#used = 0;
    this.#firstS = Number.POSITIVE_INFINITY;
    this.#lastS = Number.NEGATIVE_INFINITY;
  }
}

function encodeHead({ kind, payloadBytes, sequence, blocks, hashes }: JournalHead): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC);
  bytes[4] = VERSION;
  bytes[5] = KINDS.indexOf(kind) + 1;
  view.setUint16(6, payloadBytes, true);
  view.setFloat64(8, sequence, true);
  view.setUint32(16, blocks, true);
  view.setUint32(20, hashes, true);
  view.setUint32(HEAD_BYTES - CRC_BYTES, crc32(bytes.subarray(0, HEAD_BYTES - CRC_BYTES)), true);
  return bytes;
}
