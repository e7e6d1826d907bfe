/**
 * Reads and writes at a position in a file until all bytes are done.
 *
 * We use the callbacks of `node:fs` on bare descriptors, not `fs/promises`: a descriptor here is
 * shared by many readers and counted by `open-files.ts`, while a `FileHandle` has one owner and
 * closes itself when that owner is collected. We do not use the synchronous calls either, although
 * they are cheaper for data in the page cache: a slow disk would stop the whole process.
 */

import { close, fdatasync, fsync, ftruncate, open, read, writev } from 'node:fs';
import { promisify } from 'node:util';

export const openFile: (path: string, flags: string) => Promise<number> = promisify(open);
export const truncateFile: (fd: number, length: number) => Promise<void> = promisify(ftruncate);
export const syncData: (fd: number) => Promise<void> = promisify(fdatasync);
export const syncAll: (fd: number) => Promise<void> = promisify(fsync);

/** Whether an error, or its cause, is that the volume has no room, or the user no quota. */
export function isFullError(error: unknown): boolean {
  for (let at = error as NodeJS.ErrnoException | undefined; at !== undefined; at = at.cause as typeof at) {
    if (at.code === 'ENOSPC' || at.code === 'EDQUOT') return true;
  }
  return false;
}

/** An error of close is ignored: the data was already written, or its write has failed before. */
export function closeFile(fd: number): void {
  close(fd, () => {});
}

/**
 * Fills `target` from `position` on. Returns the number of bytes; fewer than requested mean the end
 * of the file.
 */
export function readFully(fd: number, target: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let done = 0;
    const step = () => {
      read(fd, target, done, target.length - done, position + done, (error, count) => {
        if (error) return reject(error);
        done += count;
        if (count === 0 || done === target.length) return resolve(done);
        step();
      });
    };
    if (target.length === 0) resolve(0);
    else step();
  });
}

/** Linux accepts at most 1024 pieces in one call (IOV_MAX). */
const MOST_PIECES = 1024;

/**
 * Writes all pieces one after the other from `position` on. A short write (a full disk may cause
 * one first) is continued.
 */
export function writeFully(fd: number, pieces: readonly Uint8Array[], position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let rest = pieces.filter((piece) => piece.length > 0);
    const step = () => {
      if (rest.length === 0) return resolve();
      writev(fd, rest.slice(0, MOST_PIECES), position, (error, count) => {
        if (error) return reject(error);
        if (count === 0) return reject(new Error('Cannot write to a file: it took no bytes'));
        position += count;
        rest = without(rest, count);
        step();
      });
    };
    step();
  });
}

function without(pieces: Uint8Array[], count: number): Uint8Array[] {
  let first = 0;
  while (first < pieces.length && count >= pieces[first].length) count -= pieces[first++].length;
  const rest = pieces.slice(first);
  if (count > 0) rest[0] = rest[0].subarray(count);
  return rest;
}
