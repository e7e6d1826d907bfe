/**
 * The bytes of the index on disk. A log and a snapshot are both a sequence of frames; a frame is
 * valid as a whole or not at all.
 *
 * ```
 * frame    0  u32 'BJF1'   4  u32 bytes of records   8  u32 CRC-32 of the records
 *         12  u32 CRC-32 of bytes 0 to 11            16  records
 * put      0  u32 1 or 2   4  u32 u32 id            12  u32 u32 hash of the key
 *         20  u32 pack    24  u32 offset            28  u32 bytes    32  u32 last used
 *   and if the first word is 2:
 *         36  u32 u32 length of the body            44  32 bytes: SHA-256 of the body
 * delete   0  u32 3        4  u32 u32 id            12  u32 u32 hash of the key
 * ```
 *
 * 36, 76 and 20 bytes, little-endian, lower half first. The checksums begin with the number of the
 * file, so that a frame of another file in a recycled disk block is not taken for one of this file.
 * Records that belong together (an entry and the removal of the one that it replaces) are in one
 * frame, so either all or none of them take effect.
 *
 * A frame that extends beyond the end of the file was being written when the process died. It was
 * never acknowledged, so it is ignored. Any other damage is a hole, and a hole may have held
 * removals: the changes before it cannot be trusted any more (index-journal.ts forgets them). The
 * header has a checksum of its own to tell the two apart; otherwise a flipped bit in a length would
 * look like a torn end.
 */

import { crc32 } from 'node:zlib';
import type { Entry } from './entry-index.ts';

const MAGIC = 0x31464a42;
export const FRAME_HEADER_BYTES = 16;
/** Longer frames are never written, and not accepted. */
export const MOST_FRAME_BYTES = 1 << 20;

const PUT = 1;
const PUT_WITH_BODY = 2;
const DELETE = 3;
export const PUT_BYTES = 36;
export const PUT_WITH_BODY_BYTES = 76;
const DELETE_BYTES = 20;

/** Called for each record of a good frame. */
export interface IndexReplay {
  put(entry: Entry, digest: Uint8Array | null, bodyLength: number): void;
  delete(id: number, low: number, high: number): void;
}

/** Collects records for a frame. */
export class RecordBuffer {
  #bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + 4096);
  #length = FRAME_HEADER_BYTES;

  get length(): number {
    return this.#length - FRAME_HEADER_BYTES;
  }

  put(entry: Entry, digest: Uint8Array | null, bodyLength: number): void {
    const at = this.#room(digest === null ? PUT_BYTES : PUT_WITH_BODY_BYTES);
    const bytes = this.#bytes;
    this.#head(at, digest === null ? PUT : PUT_WITH_BODY, entry.id, entry.low, entry.high);
    bytes.writeUInt32LE(entry.pack, at + 20);
    bytes.writeUInt32LE(entry.offset, at + 24);
    bytes.writeUInt32LE(entry.recordBytes, at + 28);
    bytes.writeUInt32LE(entry.recency, at + 32);
    if (digest === null) return;
    bytes.writeUInt32LE(bodyLength % 2 ** 32, at + 36);
    bytes.writeUInt32LE(Math.floor(bodyLength / 2 ** 32), at + 40);
    bytes.set(digest, at + 44);
  }

  delete(id: number, low: number, high: number): void {
    this.#head(this.#room(DELETE_BYTES), DELETE, id, low, high);
  }

  /** The frame of all records since the last call, as a buffer of its own. */
  take(fileNumber: number): Buffer {
    const frame = this.#bytes.subarray(0, this.#length);
    frame.writeUInt32LE(MAGIC, 0);
    frame.writeUInt32LE(this.length, 4);
    frame.writeUInt32LE(crc32(frame.subarray(FRAME_HEADER_BYTES), fileNumber), 8);
    frame.writeUInt32LE(crc32(frame.subarray(0, 12), fileNumber), 12);
    this.#bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + 4096);
    this.#length = FRAME_HEADER_BYTES;
    return frame;
  }

  clear(): void {
    this.#length = FRAME_HEADER_BYTES;
  }

  #head(at: number, kind: number, id: number, low: number, high: number): void {
    const bytes = this.#bytes;
    bytes.writeUInt32LE(kind, at);
    bytes.writeUInt32LE(id % 2 ** 32, at + 4);
    bytes.writeUInt32LE(Math.floor(id / 2 ** 32), at + 8);
    bytes.writeUInt32LE(low, at + 12);
    bytes.writeUInt32LE(high, at + 16);
  }

  #room(count: number): number {
    const at = this.#length;
    if (at + count > this.#bytes.length) {
      const wide = Buffer.allocUnsafe(this.#bytes.length * 2);
      this.#bytes.copy(wide, 0, 0, at);
      this.#bytes = wide;
    }
    this.#length = at + count;
    return at;
  }
}

/**
 * The state at `at`: a good frame and the bytes of its records, the end (torn or not), or a hole.
 */
export type FrameState =
  | { readonly kind: 'frame'; readonly bytes: number }
  | { readonly kind: 'torn' }
  | { readonly kind: 'hole' };

const TORN: FrameState = { kind: 'torn' };
const HOLE: FrameState = { kind: 'hole' };

/** `fileLeft`: bytes of the file from `at` on, of which `bytes` may hold only the first. */
export function frameAt(bytes: Buffer, at: number, fileLeft: number, fileNumber: number): FrameState {
  if (fileLeft < FRAME_HEADER_BYTES) return TORN;
  const headerCheck = crc32(bytes.subarray(at, at + 12), fileNumber);
  if (bytes.readUInt32LE(at) !== MAGIC || bytes.readUInt32LE(at + 12) !== headerCheck) return HOLE;
  const length = bytes.readUInt32LE(at + 4);
  if (length > MOST_FRAME_BYTES) return HOLE;
  if (fileLeft < FRAME_HEADER_BYTES + length) return TORN;
  return { kind: 'frame', bytes: length };
}

/**
 * Replays the records of the frame at `at`. Returns false if they are damaged; then none was
 * replayed.
 */
export function replayFrame(bytes: Buffer, at: number, fileNumber: number, replay: IndexReplay): boolean {
  const end = at + FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 4);
  if (crc32(bytes.subarray(at + FRAME_HEADER_BYTES, end), fileNumber) !== bytes.readUInt32LE(at + 8))
    return false;
  let from = at + FRAME_HEADER_BYTES;
  while (from < end) {
    const kind = bytes.readUInt32LE(from);
    const id = bytes.readUInt32LE(from + 4) + bytes.readUInt32LE(from + 8) * 2 ** 32;
    const low = bytes.readUInt32LE(from + 12);
    const high = bytes.readUInt32LE(from + 16);
    if (kind === DELETE) {
      replay.delete(id, low, high);
      from += DELETE_BYTES;
      continue;
    }
    const entry: Entry = {
      id,
      low,
      high,
      pack: bytes.readUInt32LE(from + 20),
      offset: bytes.readUInt32LE(from + 24),
      recordBytes: bytes.readUInt32LE(from + 28),
      body: 0,
      recency: bytes.readUInt32LE(from + 32),
    };
    if (kind === PUT) {
      replay.put(entry, null, 0);
      from += PUT_BYTES;
    } else {
      const length = bytes.readUInt32LE(from + 36) + bytes.readUInt32LE(from + 40) * 2 ** 32;
      replay.put(entry, bytes.subarray(from + 44, from + 76), length);
      from += PUT_WITH_BODY_BYTES;
    }
  }
  return true;
}

/** The place where the next frame of this file may begin after a hole, or -1 if there is none. */
export function nextFrame(bytes: Buffer, after: number): number {
  return bytes.indexOf('BJF1', after, 'latin1');
}
