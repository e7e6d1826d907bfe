/**
 * The bytes of a table on disk: a head of 96 bytes, then the frame of the filter
 * (docs/spec/traceback.md). The frame is an ordinary one: `tail -c +97 FILE > x.blm` gives a file
 * that `bloomery info` and `bloomery check` read.
 *
 * A table is written beside its place and renamed, so a crash leaves a whole table or none. A file
 * that was torn in another way is recognised: the head has a checksum of its own and tells the
 * length of the file, and `verifyTable` compares the checksum of the frame.
 */

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { readAll } from '@bloomery/files';
import { BlockedBloomFilter, type KeyHash, readFrameLayout, type SecretKey } from 'bloomery';
import type { DigestTable, TimeSpan } from '../tables/digest-table.ts';
import { TracebackError } from '../traceback-error.ts';

/** The things that the digests of a table stand for. */
export type TableKind = 'packets' | 'sources';

const KINDS: readonly TableKind[] = ['packets', 'sources'];
const MAGIC = 0x424c4d50; // 'BLMP'
const VERSION = 1;
const HEAD_BYTES = 96;
const FRAME_HEAD_BYTES = 28;
const BLOCK_BYTES = 64;

/** A closed table: the head of its file, and where its bits are. */
export interface StoredTable extends TimeSpan {
  readonly path: string;
  /** Number of the table in its folder, rising. */
  readonly sequence: number;
  readonly kind: TableKind;
  readonly payloadBytes: number;
  readonly packets: number;
  readonly distinct: number;
  readonly chanceRate: number;
  readonly blocks: number;
  readonly hashes: number;
  /** Offset of the first block in the file. */
  readonly start: number;
  /** Length of the file. */
  readonly bytes: number;
}

export interface TableFacts {
  readonly sequence: number;
  readonly kind: TableKind;
  readonly payloadBytes: number;
}

/** The parts of the file of a table. */
export function encodeTable(table: DigestTable, facts: TableFacts): [head: Uint8Array, frame: Uint8Array] {
  const filter = table.folded();
  const frame = filter.encode();
  const head = new Uint8Array(HEAD_BYTES);
  const view = new DataView(head.buffer);
  view.setUint32(0, MAGIC);
  head[4] = VERSION;
  head[5] = KINDS.indexOf(facts.kind) + 1;
  view.setUint16(6, facts.payloadBytes, true);
  view.setFloat64(8, facts.sequence, true);
  view.setFloat64(16, table.firstS, true);
  view.setFloat64(24, table.lastS, true);
  view.setFloat64(32, table.packets, true);
  view.setFloat64(40, table.distinct, true);
  view.setFloat64(48, filter.estimatedFalsePositiveRate(), true);
  view.setUint32(56, frame.length, true);
  view.setUint32(92, crc32(head.subarray(0, 92)), true);
  return [head, frame];
}

/** Reads the head of a table. Throws a `TracebackError` if the file is not a whole table. */
export function openTable(path: string, key: SecretKey): StoredTable {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const head = new Uint8Array(HEAD_BYTES + FRAME_HEAD_BYTES);
    if (size < head.length) throw torn(path, `a table, got ${size} bytes`);
    readAll(file, head, 0);
    return readTableHead(path, head, size, key);
  } finally {
    closeSync(file);
  }
}

/** The facts in the first bytes of a table file. */
export function readTableHead(path: string, head: Uint8Array, size: number, key: SecretKey): StoredTable {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (head.length < HEAD_BYTES + FRAME_HEAD_BYTES || view.getUint32(0) !== MAGIC) {
    throw torn(path, 'the first bytes of a table, got others');
  }
  if (head[4] !== VERSION) throw torn(path, `version ${VERSION}, got ${head[4]}`);
  if (view.getUint32(92, true) !== crc32(head.subarray(0, 92))) {
    throw torn(path, 'the checksum of the head, got another one');
  }
  const frameBytes = view.getUint32(56, true);
  if (size !== HEAD_BYTES + frameBytes) {
    throw torn(path, `${HEAD_BYTES + frameBytes} bytes, got ${size}`);
  }
  let layout: ReturnType<typeof readFrameLayout>;
  try {
    layout = readFrameLayout(head.subarray(HEAD_BYTES), { key });
  } catch (cause) {
    throw torn(path, `a frame with this collector's key, got: ${(cause as Error).message}`, cause);
  }
  const kind = KINDS[head[5] - 1];
  if (layout.blocks === undefined || layout.length !== frameBytes || kind === undefined) {
    throw torn(path, 'the frame of a blocked filter, got another one');
  }
  return {
    path,
    kind,
    payloadBytes: view.getUint16(6, true),
    sequence: view.getFloat64(8, true),
    firstS: view.getFloat64(16, true),
    lastS: view.getFloat64(24, true),
    packets: view.getFloat64(32, true),
    distinct: view.getFloat64(40, true),
    chanceRate: view.getFloat64(48, true),
    blocks: layout.blocks,
    hashes: layout.hashes,
    start: HEAD_BYTES + layout.start,
    bytes: size,
  };
}

/** Compares the checksum of the whole frame. Throws a `TracebackError` if it is another one. */
export function verifyTable({ path }: StoredTable, key: SecretKey): void {
  try {
    BlockedBloomFilter.decode(readFileSync(path).subarray(HEAD_BYTES), { key });
  } catch (cause) {
    throw torn(path, `the frame as it was written, got: ${(cause as Error).message}`, cause);
  }
}

const block = new Uint8Array(BLOCK_BYTES);

/**
 * Asks a table on disk about a digest. It reads one block of 64 bytes, because all bits of a digest
 * lie in one block.
 */
export function askTable(table: StoredTable, hash: KeyHash, key: SecretKey): boolean {
  const file = openSync(table.path, 'r');
  try {
    const index = Math.floor(((hash.high >>> 0) * table.blocks) / 2 ** 32);
    readAll(file, block, table.start + BLOCK_BYTES * index);
  } finally {
    closeSync(file);
  }
  return BlockedBloomFilter.fromBlockBytes(block, { hashes: table.hashes, key }).hasHash(hash);
}

function torn(path: string, expected: string, cause?: unknown): TracebackError {
  return new TracebackError('table', `Cannot read the table: expected ${expected} (${path})`, { cause });
}
