/**
 * The bytes of the log of changes (docs/spec/layered-log.md): heads of segments, heads of entries,
 * and changes. Integers are little-endian.
 *
 * An entry is a change or a batch that takes effect as a whole. Its head says its place in the log
 * and up to where the log was on the disk when it was written. So a reader that meets damage can
 * tell the torn end of a write that was never acknowledged from damage to acknowledged changes.
 * Each change has a checksum of its own, so that one change of a large batch can be read alone.
 *
 * Checksums are CRC-32 by Node's zlib and begin with the random name of the log. Bytes of another
 * log, or of a value that looks like an entry, do not pass as an entry.
 */

import { crc32 } from 'node:zlib';
import { LayerError } from '../layer-error.ts';

export const SEGMENT_HEAD = 48;
export const ENTRY_HEAD = 32;
export const CHANGE_HEAD = 12;
export const LOG_ID = 16;
export const MAX_KEY_BYTES = 65_535;
/** All changes of one entry, with their heads. */
export const MAX_ENTRY_BYTES = 64 * 1024 * 1024;

const MAGIC = Buffer.from('\x89BLG\r\n\x1a\n', 'latin1');
const VERSION = 1;
/** The first bytes of an entry: BLGE. */
export const MARKER = Buffer.from('BLGE', 'latin1');

const SET = 1;
const DELETE = 2;

export interface SegmentHead {
  readonly id: Uint8Array;
  /** Position in the log of the first entry of this segment. */
  readonly start: number;
}

export function encodeSegmentHead({ id, start }: SegmentHead): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEAD);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(VERSION, 8);
  bytes.set(id, 16);
  bytes.writeBigUInt64LE(BigInt(start), 32);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, SEGMENT_HEAD - 4)), SEGMENT_HEAD - 4);
  return bytes;
}

/** Reads the head of a segment. `path` is for messages. */
export function decodeSegmentHead(bytes: Buffer, path: string): SegmentHead {
  if (bytes.length < SEGMENT_HEAD || !bytes.subarray(0, 8).equals(MAGIC))
    throw new LayerError('format', `Cannot read ${path}: expected a log of changes, got other bytes`);
  if (crc32(bytes.subarray(0, SEGMENT_HEAD - 4)) !== bytes.readUInt32LE(SEGMENT_HEAD - 4)) {
    throw new LayerError(
      'damaged',
      `Cannot read ${path}: expected the head of a log, got damaged bytes (offset 0)`,
      { offset: 0 },
    );
  }
  const version = bytes.readUInt32LE(8);
  if (version !== VERSION)
    throw new LayerError('format', `Cannot read ${path}: expected version ${VERSION}, got ${version}`);
  return { id: Uint8Array.from(bytes.subarray(16, 16 + LOG_ID)), start: Number(bytes.readBigUInt64LE(32)) };
}

export interface EntryHead {
  /** Bytes of the changes after the head. */
  readonly length: number;
  readonly position: number;
  /** Everything before this position was on the disk when the entry was written. */
  readonly synced: number;
  readonly count: number;
}

/** Writes the head of an entry into the first bytes of `bytes`. */
export function writeEntryHead(bytes: Buffer, head: EntryHead, seed: number): void {
  MARKER.copy(bytes);
  bytes.writeUInt32LE(head.length, 4);
  bytes.writeBigUInt64LE(BigInt(head.position), 8);
  bytes.writeBigUInt64LE(BigInt(head.synced), 16);
  bytes.writeUInt32LE(head.count, 24);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, ENTRY_HEAD - 4), seed), ENTRY_HEAD - 4);
}

/** Reads the head of an entry, or returns undefined if these bytes are none. */
export function readEntryHead(bytes: Buffer, seed: number): EntryHead | undefined {
  if (bytes.length < ENTRY_HEAD || !bytes.subarray(0, 4).equals(MARKER)) return undefined;
  if (crc32(bytes.subarray(0, ENTRY_HEAD - 4), seed) !== bytes.readUInt32LE(ENTRY_HEAD - 4)) return undefined;
  return {
    length: bytes.readUInt32LE(4),
    position: Number(bytes.readBigUInt64LE(8)),
    synced: Number(bytes.readBigUInt64LE(16)),
    count: bytes.readUInt32LE(24),
  };
}

/** A change as the log holds it. The value of a deletion is null. */
export interface LoggedChange {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
}

/** The value with which checksums of a log begin: the checksum of its name. */
export function seedOf(id: Uint8Array): number {
  return crc32(id);
}

/**
 * Writes an entry without its head, which has room at the start: its place is known only when its
 * turn comes.
 */
export function encodeEntry(changes: readonly LoggedChange[], seed: number): Buffer {
  let size = ENTRY_HEAD;
  for (const { key, value } of changes) {
    if (key.length > MAX_KEY_BYTES)
      throw tooLarge(`a key of at most ${MAX_KEY_BYTES} bytes, got ${key.length}`);
    size += CHANGE_HEAD + key.length + (value?.length ?? 0);
  }
  if (size - ENTRY_HEAD > MAX_ENTRY_BYTES)
    throw tooLarge(`at most ${MAX_ENTRY_BYTES} bytes in one change or batch, got ${size - ENTRY_HEAD}`);
  const bytes = Buffer.alloc(size);
  let at = ENTRY_HEAD;
  for (const { key, value } of changes) {
    bytes[at] = value === null ? DELETE : SET;
    bytes.writeUInt16LE(key.length, at + 2);
    bytes.writeUInt32LE(value?.length ?? 0, at + 4);
    bytes.set(key, at + CHANGE_HEAD);
    if (value !== null) bytes.set(value, at + CHANGE_HEAD + key.length);
    const end = at + CHANGE_HEAD + key.length + (value?.length ?? 0);
    bytes.writeUInt32LE(changeSum(bytes, at, end, seed), at + 8);
    at = end;
  }
  return bytes;
}

/** The size of the change that begins with these bytes, before anything is read or allocated. */
export function changeSize(bytes: Buffer, at: number): number {
  return CHANGE_HEAD + bytes.readUInt16LE(at + 2) + bytes.readUInt32LE(at + 4);
}

/** Reads the change at a place of `bytes`; undefined if it is not whole and unchanged. */
export function readChange(bytes: Buffer, at: number, seed: number): LoggedChange | undefined {
  if (at + CHANGE_HEAD > bytes.length) return undefined;
  const end = at + changeSize(bytes, at);
  const kind = bytes[at];
  if (end > bytes.length || (kind !== SET && kind !== DELETE)) return undefined;
  if (changeSum(bytes, at, end, seed) !== bytes.readUInt32LE(at + 8)) return undefined;
  const middle = at + CHANGE_HEAD + bytes.readUInt16LE(at + 2);
  return {
    key: bytes.subarray(at + CHANGE_HEAD, middle),
    value: kind === SET ? bytes.subarray(middle, end) : null,
  };
}

/** Checksum of a change except the four bytes that hold it. */
function changeSum(bytes: Buffer, at: number, end: number, seed: number): number {
  return crc32(bytes.subarray(at + CHANGE_HEAD, end), crc32(bytes.subarray(at, at + 8), seed));
}

function tooLarge(what: string): LayerError {
  return new LayerError('limit', `Cannot write a change: expected ${what}`);
}
