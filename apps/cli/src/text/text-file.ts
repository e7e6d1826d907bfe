/**
 * A file of text as it lies on the disk: what identifies its content, and how its bytes are read.
 * gzip and zstd are recognised by their first bytes, whatever the name is, as zgrep and zstdgrep do
 * it.
 */

import { type BigIntStats, fstatSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { HEAD as HEAD_BYTES, packingOf } from '../unpacking/packing-of.ts';

export type FileKind = 'plain' | 'gzip' | 'zstd';

/** Reads bytes at a place of a file: fewer than asked for only at its end. */
export type ReadBytes = (position: number, length: number) => Uint8Array | Promise<Uint8Array>;

/** Properties by which a file is recognised. Times in nanoseconds are strings of digits. */
export interface FileIdentity {
  readonly size: number;
  /** Time of the last change; empty if it was too recent to tell later changes from it. */
  readonly modified: string;
  /** Time of the last change of content, name or rights, device and inode. */
  readonly inode: string;
  /** CRC-32 of the first 64 KiB. */
  readonly head: number;
  /** CRC-32 of the last 64 KiB. */
  readonly tail: number;
}

export { HEAD_BYTES };

const EDGE = 65536;

export function readSome(descriptor: number, position: number, length: number): Buffer<ArrayBuffer> {
  return readInto(descriptor, Buffer.alloc(Math.max(0, length)), position);
}

/** Fills `bytes` from a place of the file. Returns the part of it that was filled. */
export function readInto<Bytes extends Uint8Array>(
  descriptor: number,
  bytes: Bytes,
  position: number,
): Bytes {
  let at = 0;
  while (at < bytes.length) {
    const read = readSync(descriptor, bytes, at, bytes.length - at, position + at);
    if (read === 0) break;
    at += read;
  }
  return at === bytes.length ? bytes : (bytes.subarray(0, at) as Bytes);
}

/** Reads from an open file. */
export function bytesAt(descriptor: number): ReadBytes {
  return (position, length) => readSome(descriptor, position, length);
}

/** The kind of a file by its first bytes. xz and bzip2 are searched as they are, as by zgrep. */
export function kindOfHead(head: Uint8Array): FileKind {
  const packing = packingOf(head);
  return packing === 'gzip' || packing === 'zstd' ? packing : 'plain';
}

export function kindOf(descriptor: number): FileKind {
  return kindOfHead(readSome(descriptor, 0, HEAD_BYTES));
}

export function statOf(descriptor: number): BigIntStats {
  return fstatSync(descriptor, { bigint: true });
}

function inodeOf({ dev, ino, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${ctimeNs}`;
}

/** The checksums of the first and the last bytes of the first `size` bytes. */
function edgesOf(descriptor: number, size: number): { head: number; tail: number } {
  return {
    head: crc32(readSome(descriptor, 0, Math.min(size, EDGE))),
    tail: crc32(readSome(descriptor, Math.max(0, size - EDGE), Math.min(size, EDGE))),
  };
}

/**
 * Clocks of file systems tick every 4 to 10 ms. A change after this time has a later time stamp
 * than one before it.
 */
const SETTLED_MS = 50;
/** The same for file systems that keep whole seconds, or two of them as FAT does. */
const COARSE_MS = 2500;

/**
 * The identity of an open file. If the file was changed just now, this waits for the clock of the
 * file system to move on. If the file is still being written then, its identity has no time, and
 * the file counts as changed later unless it has grown.
 */
export function identify(descriptor: number, clock: () => number = Date.now): FileIdentity {
  let stat = statOf(descriptor);
  if (isRecent(stat, clock())) {
    Atomics.wait(PAUSE, 0, 0, 2 * SETTLED_MS);
    stat = statOf(descriptor);
  }
  const size = Number(stat.size);
  const modified = isRecent(stat, clock()) ? '' : String(stat.mtimeNs);
  return { size, modified, inode: inodeOf(stat), ...edgesOf(descriptor, size) };
}

function isRecent({ mtimeMs, mtimeNs, ctimeMs }: BigIntStats, now: number): boolean {
  const isCoarse = mtimeNs % 1_000_000_000n === 0n;
  return (
    now - Math.max(Number(mtimeMs), Number(ctimeMs)) < SETTLED_MS ||
    (isCoarse && now - Number(mtimeMs) < COARSE_MS)
  );
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/** How a file relates to an identity that was taken earlier. */
export type FileChange = 'same' | 'grown' | 'changed';

/**
 * Compares an open file with an identity. Same size, time, inode and time of the inode: the same.
 * A file with another inode (copied, moved, renamed) must have the same size, time, head and tail.
 * A larger file whose former head and tail are still there has grown.
 *
 * A file of the same size without a known time was being written when it was indexed. It has not
 * grown since, so its writer may write in place, such as into a log of a fixed size. Then any line
 * may be new, so the file counts as changed.
 */
export function changeOf(descriptor: number, known: FileIdentity): FileChange {
  const stat = statOf(descriptor);
  const size = Number(stat.size);
  if (known.modified !== '' && size === known.size && String(stat.mtimeNs) === known.modified) {
    if (inodeOf(stat) === known.inode) return 'same';
    return hasEdges(descriptor, known) ? 'same' : 'changed';
  }
  if (size <= known.size || known.size === 0) return 'changed';
  return hasEdges(descriptor, known) ? 'grown' : 'changed';
}

function hasEdges(descriptor: number, { size, head, tail }: FileIdentity): boolean {
  const edges = edgesOf(descriptor, size);
  return edges.head === head && edges.tail === tail;
}
