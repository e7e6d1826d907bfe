/**
 * Files that are there or not, and never half: written beside their place under another name, brought to the disk
 * (fsync), and renamed. A crash at any moment leaves the old file or the new one, and at worst a temporary file
 * `.name.PID.bloomery-tmp`, which the next write to the same place removes once its process is gone.
 *
 * A file that is replaced keeps its mode, and its owner where the system allows that. What is no file (/dev/null, a named pipe) is
 * written to as it is: to replace it would destroy it.
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
  readdirSync,
  realpathSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ClosedPipe, write } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';

export interface WriteOptions {
  /** Whether a file that is there may be replaced. */
  readonly force?: boolean | undefined;
}

/** Refuses a target that exists already, before any work is done. `-` is standard output. */
export function checkTarget(path: string, { force = false }: WriteOptions = {}): void {
  if (path === '-') {
    if (process.stdout.isTTY)
      throw new UsageError('standard output is a terminal; name a file, or pipe it on');
    return;
  }
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new UsageError(`${path} is a directory; name a file in it`);
  // A link that leads nowhere is something, too.
  const taken = found === undefined ? lstatSync(path, { throwIfNoEntry: false }) : found.isFile();
  if (taken && !force) throw existing(path);
  if (!existsSync(dirname(path)))
    throw new UsageError(`there is no directory ${dirname(path)} for ${basename(path)}`);
}

/**
 * Writes all bytes, or leaves the place as it was. Parts are written one after the other. Without `force` a file that has come
 * there since `checkTarget` stays, and this is an error.
 */
export function writeAtomically(
  path: string,
  parts: Uint8Array | readonly Uint8Array[],
  { force = true }: WriteOptions = {},
): void {
  const pieces = parts instanceof Uint8Array ? [parts] : parts;
  if (path === '-') {
    for (const piece of pieces) write(piece);
    return;
  }
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) {
    writeThrough(path, pieces);
    return;
  }
  // A link stays a link: what it points to is replaced.
  const place = found === undefined ? path : realpathSync(path);
  removeLeftOvers(place);
  const temporary = temporaryName(place, process.pid);
  let descriptor: number | undefined;
  try {
    descriptor = openSync(temporary, 'wx', found?.mode ?? 0o666);
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
function writeThrough(path: string, pieces: readonly Uint8Array[]): void {
  const descriptor = openSync(path, 'w');
  try {
    for (const piece of pieces) writeAll(descriptor, piece);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EPIPE' ? new ClosedPipe() : error;
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

function existing(path: string): UsageError {
  return new UsageError(`${path} exists already; --force replaces it, nothing was changed`);
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

function temporaryName(path: string, pid: number): string {
  return join(dirname(path), `.${basename(path)}.${pid}${SUFFIX}`);
}

/**
 * What a killed process left behind. Those of running processes stay, and so does what may not be removed: it is
 * somebody else's, or another one removes it at this moment, and neither is a reason to write nothing.
 */
function removeLeftOvers(path: string): void {
  const prefix = `.${basename(path)}.`;
  for (const name of namesIn(dirname(path))) {
    if (!name.startsWith(prefix) || !name.endsWith(SUFFIX)) continue;
    const pid = Number(name.slice(prefix.length, -SUFFIX.length));
    if (!Number.isInteger(pid) || isRunning(pid)) continue;
    try {
      unlinkSync(join(dirname(path), name));
    } catch {
      // it stays
    }
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // one may be allowed to write here and not to look
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid !== process.pid;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const SUFFIX = '.bloomery-tmp';
