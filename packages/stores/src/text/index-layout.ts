/**
 * Places and checksums in the file of a text index (docs/spec/text-index.md), for its writer and
 * its reader.
 */

import { hashKey } from 'bloomery';

export const MAGIC = 0x58545442; // 'BTTX'
export const VERSION = 1;
export const HEADER_BYTES = 40;
/** One record of the directory at the end: a stripe. */
export const STRIPE_BYTES = 24;
export const TRAILER_BYTES = 32;
/** Blocks of a stripe: a row is 512 bytes then. */
export const STRIPE_BLOCKS = 4096;
/** Blocks whose extents share a checksum. */
export const CHUNK_BLOCKS = 32;
export const EXTENT_BYTES = 56;
export const SUM_BYTES = 4;
/** Rows share a checksum until they are at least this long together. */
const GROUP_BYTES = 512;

/** A piece of a file that belongs to a block. Offsets count bytes, `lines` counts newlines. */
export interface Extent {
  /** The number of the file, given by the program that indexes. */
  readonly file: number;
  /** The first byte of the text. */
  readonly start: number;
  readonly length: number;
  /** Newlines before the first byte. */
  readonly lines: number;
  /** The place in the file from which the text is read: a member of a gzip file begins there. */
  readonly source: number;
  /** Bytes of the file that suffice. */
  readonly sourceLength: number;
  /** Unpacked bytes before the first byte of the text, from `source` on. */
  readonly skip: number;
}

/** Places of the rows of a stripe. */
export interface RowLayout {
  /** Bytes of a row. */
  readonly width: number;
  /** Rows that share a checksum. */
  readonly groupRows: number;
  /** Bytes of such a group with its checksum. */
  readonly groupBytes: number;
  /** Bytes of all rows. */
  readonly bytes: number;
}

export function rowLayout(blocks: number, bitsLog2: number): RowLayout {
  const width = Math.ceil(blocks / 8);
  let groupRows = 1;
  while (groupRows * width < GROUP_BYTES && groupRows < 2 ** bitsLog2) groupRows *= 2;
  const groupBytes = groupRows * width + SUM_BYTES;
  return { width, groupRows, groupBytes, bytes: (2 ** bitsLog2 / groupRows) * groupBytes };
}

/** The place of a row within its stripe. */
export function rowPlace({ width, groupRows, groupBytes }: RowLayout, row: number): number {
  return Math.floor(row / groupRows) * groupBytes + (row % groupRows) * width;
}

/**
 * The checksum of bytes at a place of the index. The place is part of it, so that a piece of the
 * same index in a wrong place is noticed as well.
 */
function checksum(bytes: Uint8Array, place: number): number {
  return (hashKey(bytes).low ^ Math.imul((place + 1) | 0, 0x9e3779b1)) >>> 0;
}

/** Writes the checksum of all bytes but the last four into those. */
export function seal(bytes: Uint8Array, place: number): Uint8Array {
  const at = bytes.length - SUM_BYTES;
  viewOf(bytes).setUint32(at, checksum(bytes.subarray(0, at), place), true);
  return bytes;
}

/** Whether `seal` wrote the last four bytes. */
export function isSealed(bytes: Uint8Array, place: number): boolean {
  const at = bytes.length - SUM_BYTES;
  return at >= 0 && viewOf(bytes).getUint32(at, true) === checksum(bytes.subarray(0, at), place);
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function putNumber(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % 2 ** 32, true);
  view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
}

/** A 64-bit number; above 2^53 it is Infinity, which no place is. */
export function getNumber(view: DataView, at: number): number {
  const value = view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true);
  return Number.isSafeInteger(value) ? value : Number.POSITIVE_INFINITY;
}
