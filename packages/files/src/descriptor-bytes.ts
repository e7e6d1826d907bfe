/**
 * Reads or writes all bytes at a position of an open file, and flushes directories to the disk. The
 * calls are synchronous: the steps of a change must happen in order, and the callers have nothing
 * else to do meanwhile. The cache has other work to do, and uses its own calls (its
 * store/disk/file-io.ts).
 */

import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { FileError } from './file-error.ts';

/** Fills `bytes` from a position on. */
export function readAll(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; ) {
    const read = readSync(descriptor, bytes, at, bytes.length - at, position + at);
    if (read === 0) {
      const end = position + at;
      throw new FileError(
        'truncated',
        '',
        `Cannot read the file: expected ${bytes.length} bytes at ${position}, but the file ends at byte ${end}; was it cut off just now?`,
      );
    }
    at += read;
  }
}

/**
 * Flushes the names in a directory to the disk. Where directories cannot be opened (Windows), the
 * system does it later by itself.
 */
export function syncDirectory(path: string): void {
  try {
    const directory = openSync(path, 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  } catch {
    // the system flushes it later
  }
}

/** Writes all bytes, at a position or at the current one. */
export function writeAll(descriptor: number, bytes: Uint8Array, position?: number): void {
  for (let at = 0; at < bytes.length; ) {
    at += writeSync(descriptor, bytes, at, bytes.length - at, position === undefined ? null : position + at);
  }
}
