/**
 * One entry in a pack: its key, its head, and its body if that is small.
 *
 * ```
 *  0  u32  'BREC'
 *  4  u32  CRC-32 of all that follows
 *  8  u32  number of the entry, lower half      12  u32  upper half
 * 16  u32  bytes of the key                     20  u32  bytes of the head
 * 24  u32  bytes of the body here               28  u32  1: the body is here, 0: it is a file
 * 32  key: a JSON string      head: StoredResponse without its key, as JSON      body
 * ```
 * All numbers are little-endian. The key is a JSON string because UTF-8 alone would make all lone
 * surrogates equal, so that two keys could become one. The head does not contain the key, so that
 * listing all keys does not require parsing heads.
 *
 * The number in the record is compared with the one in the index: a record read from the wrong
 * position is valid in itself, and must not pass. CRC-32 finds every error within 32 bits and
 * misses one in 2^32 of the rest. It guards against disks and crashes, not against attackers with
 * write access to the folder, who can also write valid checksums.
 */

import { crc32 } from 'node:zlib';
import type { StoredResponse } from '../../../policy/stored-response.ts';

const MAGIC = 0x43455242;
const RECORD_HEADER_BYTES = 32;

export interface PackRecord {
  readonly response: StoredResponse;
  /** The body, or null if it is in a file. */
  readonly body: Uint8Array | null;
}

export function encodeRecord(
  id: number,
  response: StoredResponse,
  body: readonly Uint8Array[] | null,
): Buffer {
  const { key, ...head } = response;
  const keyText = JSON.stringify(key);
  const headText = JSON.stringify(head);
  const keyBytes = Buffer.byteLength(keyText);
  const headBytes = Buffer.byteLength(headText);
  let bodyBytes = 0;
  if (body !== null) for (const piece of body) bodyBytes += piece.length;
  const record = Buffer.allocUnsafeSlow(RECORD_HEADER_BYTES + keyBytes + headBytes + bodyBytes);
  record.writeUInt32LE(MAGIC, 0);
  record.writeUInt32LE(id % 2 ** 32, 8);
  record.writeUInt32LE(Math.floor(id / 2 ** 32), 12);
  record.writeUInt32LE(keyBytes, 16);
  record.writeUInt32LE(headBytes, 20);
  record.writeUInt32LE(bodyBytes, 24);
  record.writeUInt32LE(body === null ? 0 : 1, 28);
  record.write(keyText, RECORD_HEADER_BYTES);
  record.write(headText, RECORD_HEADER_BYTES + keyBytes);
  let at = RECORD_HEADER_BYTES + keyBytes + headBytes;
  for (const piece of body ?? []) {
    record.set(piece, at);
    at += piece.length;
  }
  record.writeUInt32LE(crc32(record.subarray(8)), 4);
  return record;
}

/** Whether these bytes are the record of this entry, complete and undamaged. */
export function isRecord(bytes: Buffer, id: number): boolean {
  if (bytes.length < RECORD_HEADER_BYTES || bytes.readUInt32LE(0) !== MAGIC) return false;
  const parts = bytes.readUInt32LE(16) + bytes.readUInt32LE(20) + bytes.readUInt32LE(24);
  return (
    bytes.length === RECORD_HEADER_BYTES + parts &&
    bytes.readUInt32LE(8) + bytes.readUInt32LE(12) * 2 ** 32 === id &&
    crc32(bytes.subarray(8)) === bytes.readUInt32LE(4)
  );
}

/** The key of a record that `isRecord` found good. */
export function recordKey(bytes: Buffer): string {
  return JSON.parse(
    bytes.toString('utf8', RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + bytes.readUInt32LE(16)),
  );
}

/** The content of a record that `isRecord` found good. The body is a view of it. */
export function decodeRecord(bytes: Buffer): PackRecord {
  const headFrom = RECORD_HEADER_BYTES + bytes.readUInt32LE(16);
  const bodyFrom = headFrom + bytes.readUInt32LE(20);
  const head = JSON.parse(bytes.toString('utf8', headFrom, bodyFrom)) as Omit<StoredResponse, 'key'>;
  return {
    response: { key: recordKey(bytes), ...head },
    body: bytes.readUInt32LE(28) === 1 ? bytes.subarray(bodyFrom) : null,
  };
}
