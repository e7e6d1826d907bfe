/**
 * Files that are there whole or not at all. The bytes are written beside their place under another name, brought to the
 * disk (fsync), and renamed; then the directory is brought to the disk. A crash or a signal at any moment leaves the old
 * file or the new one, and at worst a temporary file. The next write to the same place removes that file once its process
 * is gone (temporary-file.ts).
 *
 * A file that is replaced keeps its mode, and its owner where the system allows that. A device or a named pipe is written
 * to directly, because replacing it would destroy it.
 *
 * Windows: a directory cannot be brought to the disk there, so a new name may be lost in a power failure.
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
import { dirname } from 'node:path';
import { syncDirectory, writeAll } from './descriptor-bytes.ts';
import { FileError } from './file-error.ts';
import { removeLeftovers, temporaryName } from './temporary-file.ts';

export interface WriteOptions {
  /** Whether a file that is there may be replaced. Default true. */
  readonly force?: boolean | undefined;
  /** Of a new file, less the umask. Default 0o666. A file that is replaced keeps its own. */
  readonly mode?: number | undefined;
}

/**
 * Writes all bytes, or leaves the place as it was. Parts are written one after the other. Without `force` a file that is
 * there stays, and this throws a `FileError` with the code 'exists'.
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
  // A link stays a link: what it points to is replaced.
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

/** Into a device or a pipe. */
function writeThrough(path: string, pieces: Iterable<Uint8Array>): void {
  const descriptor = openSync(path, 'w');
  try {
    for (const piece of pieces) writeAll(descriptor, piece);
  } finally {
    closeSync(descriptor);
  }
}

/** Renames, unless something is there. A second name is given in one step that fails then; some disks know no second names. */
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

/** The mode that a file was made with depends on who makes it (umask), and so does its owner. */
function keepOwner(descriptor: number, { mode, uid, gid }: Stats): void {
  try {
    const made = fstatSync(descriptor);
    if (made.uid !== uid || made.gid !== gid) fchownSync(descriptor, uid, gid);
    fchmodSync(descriptor, mode & 0o7777);
  } catch {
    // Not ours to give away; the mode it was opened with grants nobody more than before.
  }
}
