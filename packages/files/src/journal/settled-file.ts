/**
 * Reads a file that another process may be changing in place.
 *
 * A writer (page-journal.ts) puts its journal next to the file before it touches a page, and
 * removes it when all pages are written. So a reader that sees no journal before it reads, none
 * after, and the same time of the last change, has read the old contents or the new ones. Otherwise
 * it waits for the writer, or finishes the change of a dead one, and reads again.
 *
 * Times of change have the resolution of the kernel's clock, some milliseconds. Two writers within
 * one tick, the second of them entirely during the read, would not be noticed here. The checksum of
 * the frame detects such a mixture.
 *
 * Files larger than 2 GiB, which `readFileSync` refuses, can be read as well.
 */

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { readAll } from '../descriptor-bytes.ts';
import { FileError } from '../file-error.ts';
import { pause } from '../lock/pause.ts';
import { hasJournal, placeOf, type RecoveryOptions, recoverFile } from './journal-recovery.ts';

/** Reads all bytes of a file, never a mixture of the states before and after a change in place. */
export async function readSettled(
  path: string,
  options: RecoveryOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await recoverFile(path, options);
    const place = placeOf(path);
    const descriptor = openSync(path, 'r');
    try {
      const before = fstatSync(descriptor, { bigint: true });
      // A pipe or a device is never changed in place.
      if (!before.isFile() || place === undefined) return plain(readFileSync(descriptor));
      const bytes = allocate(path, Number(before.size));
      readAll(descriptor, bytes, 0);
      const after = fstatSync(descriptor, { bigint: true });
      const unchanged = before.mtimeNs === after.mtimeNs && before.size === after.size;
      if (unchanged && !hasJournal(place)) return bytes;
    } finally {
      closeSync(descriptor);
    }
    await pause(10 * (attempt + 1), options.signal);
  }
  throw new FileError(
    'changing',
    path,
    `Cannot read ${path}: expected it to stay the same while it is read, but it changed ${ATTEMPTS} times`,
  );
}

const ATTEMPTS = 20;

function plain(bytes: Buffer): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(bytes);
}

function allocate(path: string, size: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(size);
  } catch (cause) {
    throw new FileError(
      'size',
      path,
      `Cannot read ${path}: expected as many bytes as fit in memory at once, got ${size}`,
      { cause },
    );
  }
}
