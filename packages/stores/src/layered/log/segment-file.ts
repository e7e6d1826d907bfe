/**
 * One file of the log: read from its beginning to rebuild what is derived from it, and read at a
 * place to get one change. Reading is bounded: pieces of 1 MiB, and one entry of at most 64 MiB
 * whose length was checked and fits into the file.
 */

import { readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { LayerError } from '../layer-error.ts';
import {
  CHANGE_HEAD,
  changeSize,
  ENTRY_HEAD,
  type EntryHead,
  type LoggedChange,
  MARKER,
  MAX_ENTRY_BYTES,
  readChange,
  readEntryHead,
  SEGMENT_HEAD,
} from './log-bytes.ts';

export interface Segment {
  readonly path: string;
  readonly handle: FileHandle;
  /** Position in the log of its first entry. */
  readonly start: number;
  /** Position after its last entry that counts. */
  end: number;
}

/** A change and its position in the log. */
export interface PlacedChange extends LoggedChange {
  readonly position: number;
}

export interface ScannedEntry {
  readonly changes: readonly PlacedChange[];
  /** Position after the entry. */
  readonly end: number;
}

/** The end of a file that was never acknowledged as written. */
export interface TornEnd {
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
}

export interface ScanOptions {
  readonly seed: number;
  /** Position to begin with; an entry begins there. Default: the start of the segment. */
  readonly from?: number | undefined;
  /** Position to end with; an entry ends there. Default: the end of the file. */
  readonly to?: number | undefined;
  /** Only the last segment can have a torn end. */
  readonly isLast: boolean;
  readonly torn?: ((end: TornEnd) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const PIECE = 1 << 20;
/** Most changes are shorter than this, and are read in one step. */
const FIRST_READ = 4096;

/**
 * Reads the entries of a segment in order, each with all its changes. Sets `end` of the segment
 * when it is done. Throws a `LayerError` with the offset if acknowledged bytes are damaged.
 */
export async function* scanSegment(segment: Segment, options: ScanOptions): AsyncGenerator<ScannedEntry> {
  const { seed, isLast, torn, signal } = options;
  const { path, handle, start } = segment;
  const { size: whole } = await handle.stat();
  const size = options.to === undefined ? whole : SEGMENT_HEAD + options.to - start;
  if (size > whole) throw damaged(path, whole);
  let window: Buffer = Buffer.alloc(0);
  let windowAt = 0;
  let at = SEGMENT_HEAD + (options.from ?? start) - start;
  const bytesAt = async (offset: number, length: number): Promise<Buffer> => {
    if (offset < windowAt || offset + length > windowAt + window.length) {
      window = await readPiece(handle, offset, Math.min(size - offset, Math.max(length, PIECE)));
      windowAt = offset;
    }
    return window.subarray(offset - windowAt, offset - windowAt + length);
  };
  while (at < size) {
    signal?.throwIfAborted();
    const position = start + at - SEGMENT_HEAD;
    const head = readEntryHead(await bytesAt(at, Math.min(ENTRY_HEAD, size - at)), seed);
    const fits = head !== undefined && isPossible(head, position) && at + ENTRY_HEAD + head.length <= size;
    const changes = fits
      ? readChanges(await bytesAt(at + ENTRY_HEAD, head.length), head, position + ENTRY_HEAD, seed)
      : undefined;
    if (head === undefined || changes === undefined) {
      if (!isLast || (await wasSynced(position, at + 1))) throw damaged(path, at);
      torn?.({ path, offset: at, bytes: size - at });
      break;
    }
    at += ENTRY_HEAD + head.length;
    yield { changes, end: start + at - SEGMENT_HEAD };
  }
  segment.end = start + at - SEGMENT_HEAD;

  /** Whether a later entry says that the log was on the disk beyond this position. */
  async function wasSynced(position: number, from: number): Promise<boolean> {
    for (let offset = from; offset + ENTRY_HEAD <= size; ) {
      signal?.throwIfAborted();
      const piece = await readPiece(handle, offset, Math.min(size - offset, PIECE));
      for (let found = piece.indexOf(MARKER); found >= 0; found = piece.indexOf(MARKER, found + 1)) {
        const whole = await readPiece(handle, offset + found, Math.min(ENTRY_HEAD, size - offset - found));
        const head = readEntryHead(whole, seed);
        const isThere = head?.position === start + offset + found - SEGMENT_HEAD;
        if (head !== undefined && isThere && head.synced > position) return true;
      }
      if (piece.length <= MARKER.length) break;
      offset += piece.length - MARKER.length + 1;
    }
    return false;
  }
}

function isPossible({ length, position: said, count }: EntryHead, position: number): boolean {
  return said === position && length <= MAX_ENTRY_BYTES && count * CHANGE_HEAD <= length;
}

function readChanges(
  bytes: Buffer,
  { count, length }: EntryHead,
  position: number,
  seed: number,
): PlacedChange[] | undefined {
  const changes: PlacedChange[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    const change = readChange(bytes, at, seed);
    if (change === undefined) return undefined;
    changes.push({ ...change, position: position + at });
    at += changeSize(bytes, at);
  }
  return at === length ? changes : undefined;
}

/** Reads the change at a position. Throws if it is damaged. */
export async function readChangeAt(segment: Segment, position: number, seed: number): Promise<LoggedChange> {
  const offset = SEGMENT_HEAD + position - segment.start;
  const room = segment.end - position;
  let bytes = await readPiece(segment.handle, offset, Math.min(FIRST_READ, room));
  if (bytes.length >= CHANGE_HEAD) {
    const size = changeSize(bytes, 0);
    if (size > bytes.length && size <= room) bytes = await readPiece(segment.handle, offset, size);
  }
  const change = readChange(bytes, 0, seed);
  if (change === undefined) throw damaged(segment.path, offset);
  return change;
}

/**
 * Whether the change at a position has this key. It is synchronous, because the index asks it in
 * the middle of an update, and only for a key that was changed before.
 */
export function hasKeyAt(segment: Segment, position: number, key: Uint8Array): boolean {
  const bytes = Buffer.alloc(CHANGE_HEAD + key.length);
  const offset = SEGMENT_HEAD + position - segment.start;
  const read = readSync(segment.handle.fd, bytes, 0, bytes.length, offset);
  return (
    read === bytes.length &&
    bytes.readUInt16LE(2) === key.length &&
    bytes.subarray(CHANGE_HEAD).compare(key) === 0
  );
}

/** Reads `length` bytes, or those up to the end of the file. */
async function readPiece(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.max(0, length));
  let at = 0;
  while (at < bytes.length) {
    const { bytesRead } = await handle.read(bytes, at, bytes.length - at, offset + at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return bytes.subarray(0, at);
}

function damaged(path: string, offset: number): LayerError {
  return new LayerError(
    'damaged',
    `Cannot read ${path}: expected a whole change, got damaged bytes (offset ${offset}); restore the file from a backup`,
    { offset },
  );
}
