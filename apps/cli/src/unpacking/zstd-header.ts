/**
 * The header of a zstd frame (RFC 8878, 3.1.1.1): what must be known before a frame is unpacked.
 */

import { UnpackError } from './packed-part.ts';

export interface ZstdHeader {
  /** Bytes of the header, with the magic number. */
  readonly bytes: number;
  /** Memory that the decoder needs for text it has unpacked. */
  readonly window: number;
  /** Bytes of the unpacked text, or null if the frame does not say it. */
  readonly content: number | null;
  /** The number of the dictionary, or 0 if the frame names none. */
  readonly dictionary: number;
  readonly hasChecksum: boolean;
}

/** Bytes of the longest header. */
export const MOST_HEADER = 18;

/** Reads a header from the first bytes of a frame: all of it, or 18 bytes. */
export function zstdHeader(bytes: Uint8Array): ZstdHeader {
  const descriptor = bytes[4];
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3];
  const contentFlag = descriptor >> 6;
  const contentBytes = contentFlag === 0 ? (isSingle ? 1 : 0) : 1 << contentFlag;
  const dictionaryAt = isSingle ? 5 : 6;
  const contentAt = dictionaryAt + dictionaryBytes;
  const length = contentAt + contentBytes;
  if (bytes.length < length)
    throw new UnpackError('zstd', `Cannot unpack: expected a zstd header of ${length} bytes, got its end`);
  const content =
    contentBytes === 0 ? null : littleEndian(bytes, contentAt, contentBytes) + (contentFlag === 1 ? 256 : 0);
  return {
    bytes: length,
    window: isSingle ? content! : windowOf(bytes[5]),
    content,
    dictionary: littleEndian(bytes, dictionaryAt, dictionaryBytes),
    hasChecksum: (descriptor & 4) !== 0,
  };
}

/** The header of a block (RFC 8878, 3.1.1.2). */
export interface ZstdBlock {
  readonly isLast: boolean;
  /** Bytes behind the header. */
  readonly bytes: number;
}

export const BLOCK_HEADER = 3;
/** "Block_Maximum_Size … 128 KB" (RFC 8878, 3.1.1.2.4). */
const MOST_BLOCK = 1 << 17;

export function zstdBlock([a, b, c]: Uint8Array): ZstdBlock {
  const value = a | (b << 8) | (c << 16);
  const type = (value >> 1) & 3;
  // A block of one repeated byte holds that byte, and its size is that of the text.
  const bytes = type === 1 ? 1 : value >>> 3;
  if (type === 3 || bytes > MOST_BLOCK)
    throw new UnpackError('zstd', 'Cannot unpack: expected the header of a zstd block, got other bytes');
  return { isLast: (value & 1) !== 0, bytes };
}

/** Bytes of a frame that lies in memory from its first byte on. */
export function frameBytes(frame: Uint8Array): number {
  const { bytes, hasChecksum } = zstdHeader(frame);
  for (let at = bytes; ; ) {
    const block = zstdBlock(frame.subarray(at, at + BLOCK_HEADER));
    at += BLOCK_HEADER + block.bytes;
    if (block.isLast) return at + (hasChecksum ? 4 : 0);
  }
}

/** "Window_Log = 10 + Exponent … windowAdd = (windowBase / 8) * Mantissa" (RFC 8878, 3.1.1.1.2). */
function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function littleEndian(bytes: Uint8Array, at: number, length: number): number {
  let value = 0;
  for (let i = length - 1; i >= 0; i--) value = 256 * value + bytes[at + i];
  return value;
}
