/**
 * Writes files completely or not at all. The bytes are written next to their place under another
 * name, flushed to the disk (fsync), and renamed; then the directory is flushed. A crash or a
 * signal at any moment leaves the old file or the new one, and at worst a temporary file. The next
 * write to the same place removes that file once its process is gone (temporary-file.ts).
 *
 * A file that is replaced keeps its mode, and its owner where the system allows that. A device or a
 * named pipe is written to directly, because replacing it would destroy it.
 *
 * On Windows a directory cannot be flushed, so a new name may be lost in a power failure.
 */

import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory, writeAll } from './descriptor-bytes.ts';
import { FileError } from './file-error.ts';
import { removeLeftovers, temporaryName } from './temporary-file.ts';

export interface WriteOptions {
  /** Whether an existing file may be replaced. Default true. */
  readonly force?: boolean | undefined;
  /**
   * Mode of a new file, before the umask. Default 0o666. A file that is replaced keeps its own
   * mode.
   */
  readonly mode?: number | undefined;
}

/**
 * Writes all bytes, or leaves the place as it was. Parts are written one after the other. If
 * `force` is false, an existing file stays, and this throws a `FileError` with the code 'exists'.
 */
export function writeAtomically(
  path: string,
  parts: Uint8Array | Iterable<Uint8Array>,
  { force = true, mode = 0o666 }: WriteOptions = {},
): void {
  const pieces = parts instanceof Uint8Array ? [parts] : parts;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) {
    writeThrough(path, pieces);
    return;
  }
  // A link stays a link: its target is replaced.
  const place = found === undefined ? path : realpathSync(path);
  removeLeftovers(place);
  const temporary = temporaryName(place);
  let descriptor: number | undefined;
  try {
    descriptor = openSync(temporary, 'wx', found?.mode ?? mode);
    for (const piece of pieces) writeAll(descriptor, piece);
    if (found !== undefined) keepOwner(descriptor, found);
    fsyncSync(descriptor);
    closeSync(descriptor);
    descriptor = undefined;
    if (force) renameSync(temporary, place);
    else renameToFree(temporary, place);
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    if (existsSync(temporary)) unlinkSync(temporary);
    throw error;
  }
  syncDirectory(dirname(place));
}

/**
 * Writes a file like `writeAtomically`, without stopping the process while the disk is flushed (an
 * fsync may take long on a busy disk). Calls for one place must not overlap. The directory is
 * not flushed, so after a power failure the old file may be back; it is whole in any case.
 */
export async function replaceFile(
  path: string,
  bytes: Uint8Array,
  { mode = 0o666 }: Pick<WriteOptions, 'mode'> = {},
): Promise<void> {
  removeLeftovers(path);
  const temporary = temporaryName(path);
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Writes directly into a device or a pipe. */
function writeThrough(path: string, pieces: Iterable<Uint8Array>): void {
  const descriptor = openSync(path, 'w');
  try {
    for (const piece of pieces) writeAll(descriptor, piece);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Renames, unless the new name exists. Linking fails in one step if the name exists; file systems
 * without hard links need a check and a rename.
 */
function renameToFree(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) throw existing(to);
    renameSync(from, to);
    return;
  }
  unlinkSync(from);
}

function existing(path: string): FileError {
  return new FileError('exists', path, `Cannot write ${path}: expected no file there, found one`);
}

/**
 * Gives the new file the mode and the owner of the old one, because both depend on the process that
 * creates a file (umask).
 */
function keepOwner(descriptor: number, { mode, uid, gid }: Stats): void {
  try {
    const made = fstatSync(descriptor);
    if (made.uid !== uid || made.gid !== gid) fchownSync(descriptor, uid, gid);
    fchmodSync(descriptor, mode & 0o7777);
  } catch {
    // This process may not change the owner. The mode that the file was opened with grants no user
    // more than before.
  }
}
