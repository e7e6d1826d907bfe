/**
 * A file that only takes room, so that a start finds some on a volume that others have filled.
 *
 * Without a free byte no lock can be written, and without the lock nothing may be deleted: the
 * store could not be opened, nor could it make room. This file needs no lock. It means nothing, so
 * a process that finds the volume full deletes it, even if the store is another's; the next opening
 * that has room writes it again. 64 KiB are enough for two locks, a log and the folders of a start.
 *
 * It lies among the packs, where earlier versions ignore it. Its bytes are random, because zeros
 * take no room on a file system that compresses.
 */

import { randomBytes } from 'node:crypto';
import { rmSync, statfsSync, statSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const MOST_BYTES = 64 * 1024;

export function reserveBytes(capacityBytes: number): number {
  return Math.min(MOST_BYTES, Math.floor(capacityBytes / 64));
}

/** Deletes the reserve of the store in `folder` if the volume has hardly any room without it. */
export function freeReserve(folder: string): void {
  const path = pathOf(folder);
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < MOST_BYTES) rmSync(path, { force: true });
  } catch {
    // The folder does not exist yet, or cannot be asked: the start will show whether it has room.
  }
}

/** Writes the reserve of the store in `folder`, unless it is there. */
export async function keepReserve(folder: string, bytes: number): Promise<void> {
  const path = pathOf(folder);
  if (statSync(path, { throwIfNoEntry: false })?.size === bytes) return;
  try {
    await writeFile(path, randomBytes(bytes), { mode: 0o600 });
  } catch {
    // The volume is full again. A later start may find room for it.
    await rm(path, { force: true }).catch(() => {});
  }
}

function pathOf(folder: string): string {
  return join(folder, 'packs', 'reserve');
}
