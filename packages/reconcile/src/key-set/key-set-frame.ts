/**
 * The bytes of a `KeySet`:
 *
 *     0   4  magic 'BLMK'
 *     4   1  version: 1
 *     5   8  check value of the secret
 *     13  4  number of symbols m
 *     17  6  number of keys
 *     23  …  m symbols of 11 bytes: id (5, big-endian), check (2), number of keys (4)
 *         …  the keys in the order of their hashes: length (varint), bytes
 *         4  checksum by pages, as in frames
 *
 * The bytes are untrusted: sizes are compared with the bytes at hand before anything is allocated.
 * Forged symbols can make a session start again with a fresh salt, and cannot make it wrong.
 */

import { type Key, packKeys } from 'bloomery';
import { CHECKSUM, checkChecksum, checkEnvelope, FrameError, writeChecksum } from 'bloomery/frames';
import { CELL } from '../symbols/cell.ts';
import { ByteWriter } from '../wire/byte-writer.ts';

/** The most symbols that a set keeps. */
export const MOST_KEPT = 65_536;

const MAGIC = [0x42, 0x4c, 0x4d, 0x4b];
const WHAT = 'key set';
const HEAD = 23;
const SYMBOL = 11;

export interface KeySetContent {
  readonly check: bigint;
  readonly cells: Int32Array;
  readonly keys: readonly Key[];
  /** Lower and upper halves of the hashes in turn. */
  readonly words: Int32Array;
}

export function encodeKeySet({ check, cells, keys, words }: KeySetContent): Uint8Array<ArrayBuffer> {
  const symbols = cells.length / CELL;
  const head = new DataView(new ArrayBuffer(HEAD + SYMBOL * symbols));
  for (const [i, byte] of [...MAGIC, 1].entries()) head.setUint8(i, byte);
  head.setBigUint64(5, check, true);
  head.setUint32(13, symbols, true);
  head.setUint32(17, keys.length, true);
  for (let i = 0, at = HEAD; i < cells.length; i += CELL, at += SYMBOL) {
    head.setInt32(at, cells[i]);
    head.setUint8(at + 4, cells[i + 1] >>> 24);
    head.setUint16(at + 5, cells[i + 2], true);
    head.setUint32(at + 7, cells[i + 3], true);
  }
  const order = Uint32Array.from(keys, (_, k) => k).sort(
    (a, b) =>
      (words[2 * a + 1] >>> 0) - (words[2 * b + 1] >>> 0) || (words[2 * a] >>> 0) - (words[2 * b] >>> 0),
  );
  const writer = new ByteWriter().bytes(new Uint8Array(head.buffer));
  for (const k of order) {
    const { bytes } = packKeys([keys[k]]);
    writer.varint(bytes.length).bytes(bytes);
  }
  const bytes = writer.bytes(new Uint8Array(CHECKSUM)).finish();
  writeChecksum(bytes);
  return bytes;
}

/** Reads the bytes of a set whose secret has this check value. */
export function decodeKeySet(
  bytes: Uint8Array,
  check: bigint,
): { cells: Int32Array<ArrayBuffer>; keys: Uint8Array[] } {
  checkEnvelope(MAGIC, bytes, HEAD + CHECKSUM);
  checkChecksum(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = bytes.length - CHECKSUM;
  const found = view.getBigUint64(5, true);
  if (found !== check) throw refused('key', 5, `expected the secret ${found.toString(16)}, got another one`);
  const symbols = view.getUint32(13, true);
  const count = view.getUint32(17, true);
  const from = HEAD + SYMBOL * symbols;
  if (symbols < 64 || symbols > MOST_KEPT || view.getUint16(21, true) !== 0)
    throw refused('parameters', 13, `expected 64 to ${MOST_KEPT} symbols, got ${symbols}`);
  if (from + count > end) throw refused('truncated', end, `expected ${count} keys, got ${end - from} bytes`);
  const cells = new Int32Array(CELL * symbols);
  for (let i = 0, at = HEAD; i < cells.length; i += CELL, at += SYMBOL) {
    cells[i] = view.getInt32(at);
    cells[i + 1] = view.getUint8(at + 4) << 24;
    cells[i + 2] = view.getUint16(at + 5, true);
    cells[i + 3] = view.getUint32(at + 7, true);
  }
  if (cells[3] !== count)
    throw refused('payload', HEAD, `expected ${count} keys in symbol 0, got ${cells[3]}`);
  return { cells, keys: readKeys(bytes.subarray(0, end), from, count) };
}

function readKeys(bytes: Uint8Array, from: number, count: number): Uint8Array[] {
  const keys: Uint8Array[] = [];
  let at = from;
  for (let k = 0; k < count; k++) {
    let length = 0;
    for (let scale = 1; ; scale *= 128) {
      if (at >= bytes.length || scale > 2 ** 35) throw refused('payload', at, 'expected a length, got none');
      const byte = bytes[at++];
      length += (byte & 127) * scale;
      if (byte < 128) break;
    }
    if (length > bytes.length - at)
      throw refused('payload', at, `expected ${length} bytes, got ${bytes.length - at}`);
    keys.push(bytes.slice(at, at + length));
    at += length;
  }
  if (at < bytes.length) throw refused('trailing', at, `expected the end, got ${bytes.length - at} bytes`);
  return keys;
}

function refused(code: FrameError['code'], offset: number, reason: string): FrameError {
  return new FrameError(code, offset, reason, WHAT);
}
