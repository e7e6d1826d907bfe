/**
 * The envelope: the common parts of frames, deltas, sync messages and the dictionaries' files.
 *
 *     0  4  magic: four letters that say what the bytes are
 *     4  1  version of the bytes that follow
 *        …
 *        4  checksum, at the end or at the place that the format defines
 *
 * There are two checksums. Frames, deltas and sync messages have a checksum by pages: the XOR over
 * pages of 4096 bytes of the lower 32 bits of Forge64, with the number of the page as seed. A file
 * can then be changed in place, because the change of the sum follows from the changed page alone,
 * and bytes can be checked as they arrive. The dictionaries' files have the lower 32 bits of
 * Forge64 over the whole file, with seed 0. Both find all accidents except one in 2^32. Neither
 * stops a forger.
 *
 * Errors name what was being decoded: "Cannot decode sync message: expected …, got … (at byte 4)".
 */

import { hashScheme } from '../hashing/hash-scheme.ts';
import { hashBytesInto, hashOut } from '../kernel/batches/hash-key.ts';

/** The first four bytes, which identify the format. */
export type Magic = readonly number[];

/** 'BLMY' */
export const FRAME_MAGIC: Magic = [0x42, 0x4c, 0x4d, 0x59];
/** 'BLMD' */
export const DELTA_MAGIC: Magic = [0x42, 0x4c, 0x4d, 0x44];
/** 'BLMS' */
export const SYNC_MAGIC: Magic = [0x42, 0x4c, 0x4d, 0x53];
/** 'BLMG' */
export const SIGNATURE_MAGIC: Magic = [0x42, 0x4c, 0x4d, 0x47];
/** 'BLMU' */
export const UPDATE_MAGIC: Magic = [0x42, 0x4c, 0x4d, 0x55];

/**
 * The reason why bytes were refused, for callers that treat an unreadable filter as "maybe" and go
 * on.
 */
export type FrameErrorCode =
  | 'truncated' // fewer bytes than the parameters ask for
  | 'trailing' // bytes after the end
  | 'not-a-frame' // the magic is missing
  | 'version' // written by a later version
  | 'structure' // another structure, or an unknown one
  | 'hash' // an unknown hash
  | 'parameters' // parameters that no filter of ours has
  | 'payload' // a payload that contradicts the parameters
  | 'checksum' // the bytes were changed
  | 'key' // a keyed filter and no key, or another key
  | 'limit'; // more memory than the caller allows

export class FrameError extends Error {
  override readonly name = 'FrameError';
  declare readonly code: FrameErrorCode;
  /** The offset in the bytes where the error was detected. */
  declare readonly offset: number;
  /** The message without its frame: the expected and the actual value. */
  declare readonly reason: string;

  /** `what` is the kind of bytes that were being decoded; see `decoding`. */
  constructor(code: FrameErrorCode, offset: number, reason: string, what = 'frame') {
    super(`Cannot decode ${what}: ${reason} (at byte ${offset})`);
    this.code = code;
    this.offset = offset;
    this.reason = reason;
  }
}

/** Throws a `FrameError` with a message of the usual form. */
export function refuse(code: FrameErrorCode, offset: number, expected: unknown, got: unknown): never {
  throw new FrameError(code, offset, `expected ${expected}, got ${got}`);
}

/**
 * Runs a decoder. Its errors name `what` was being decoded and which `part`, with offsets in the
 * whole.
 */
export function decoding<T>(what: string, decode: () => T, part = '', start = 0): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new FrameError(error.code, start + error.offset, part + error.reason, what);
  }
}

/** Throws if bytes have another magic or version, or are shorter than `least`. */
export function checkEnvelope(magic: Magic, bytes: Uint8Array, least: number, version = VERSION): void {
  if (!(bytes instanceof Uint8Array)) throw new TypeError('Cannot decode: expected a Uint8Array');
  for (let i = 0; i < 4 && i < bytes.length; i++) {
    if (bytes[i] !== magic[i]) refuse('not-a-frame', i, `the magic bytes ${magic}`, bytes[i]);
  }
  if (bytes.length < least) refuse('truncated', bytes.length, `at least ${least} bytes`, bytes.length);
  if (bytes[4] !== version) refuse('version', 4, `version ${version}`, bytes[4]);
}

/** Whether bytes begin with a magic. The bytes after it are not checked. */
export function hasMagic(magic: Magic, bytes: Uint8Array): boolean {
  return magic.every((byte, i) => bytes[i] === byte);
}

/** Throws if a length differs from the one that a head declares. */
export function checkLength(length: number, expected: number): void {
  if (length < expected) refuse('truncated', length, `${expected} bytes`, length);
  if (length > expected) refuse('trailing', expected, `${expected} bytes`, length);
}

/** Throws if a checksum differs from the expected one. `offset` is its place. */
export function checkSum(found: number, expected: number, offset: number): void {
  if (found !== expected) refuse('checksum', offset, `checksum ${expected}`, found);
}

/** Throws if the last four bytes are not the checksum by pages of the others. */
export function checkChecksum(bytes: Uint8Array): void {
  const at = bytes.length - CHECKSUM;
  checkSum(viewOf(bytes).getUint32(at, true), checksum(bytes), at);
}

/** Writes the checksum by pages of all bytes except the last four into the last four. */
export function writeChecksum(bytes: Uint8Array): void {
  viewOf(bytes).setUint32(bytes.length - CHECKSUM, checksum(bytes), true);
}

/**
 * The contribution of page number `page` to a checksum by pages: an int32. `contents` is exactly
 * that page.
 */
export function pageSum(page: number, contents: Uint8Array): number {
  hashBytesInto(contents, hashScheme({ seed: page }));
  return hashOut[0];
}

/** The checksum over all bytes: an unsigned 32-bit number. */
export function wholeSum(bytes: Uint8Array): number {
  return pageSum(0, bytes) >>> 0;
}

/** @internal */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Checksum by pages of every byte except the last four, which hold it. */
function checksum(bytes: Uint8Array): number {
  let total = 0;
  for (let page = 0, rest = bytes.subarray(0, -CHECKSUM); rest.length > 0; rest = rest.subarray(PAGE))
    total ^= pageSum(page++, rest.subarray(0, PAGE));
  return total >>> 0;
}

/** The byte after the magic. Only sync messages have a second version; see sync-message.ts. */
export const VERSION = 1;
/** The number of bytes of a checksum. */
export const CHECKSUM = 4;
/** The number of bytes of a page in the checksum by pages. */
export const PAGE = 4096;
