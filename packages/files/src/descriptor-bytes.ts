/**
 * All bytes at a place of an open file, read or written at once, and names brought to the disk. The calls are synchronous:
 * the steps of a change must happen in order, and their callers have nothing else to do meanwhile. The cache, which has,
 * uses calls of its own (its store/disk/file-io.ts).
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

/** Brings names to the disk; where directories cannot be opened (Windows) the system does it in its own time. */
export function syncDirectory(path: string): void {
  try {
    const directory = openSync(path, 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  } catch {
    // nothing to be done about it
  }
}

/** All bytes, at the end or at a position. */
export function writeAll(descriptor: number, bytes: Uint8Array, position?: number): void {
  for (let at = 0; at < bytes.length; ) {
    at += writeSync(descriptor, bytes, at, bytes.length - at, position === undefined ? null : position + at);
  }
}
