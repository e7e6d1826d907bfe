/**
 * Files that are there or not, and never half: written beside their place under another name, brought to the disk
 * (fsync), and renamed. A crash at any moment leaves the old file or the new one, and at worst a temporary file
 * `.name.PID.bloomery-tmp`, which the next write to the same place removes once its process is gone.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { write } from './standard-output.ts';
import { UsageError } from './usage-error.ts';

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
  if (found !== undefined && !force) {
    throw new UsageError(`${path} exists already; --force replaces it, nothing was changed`);
  }
  if (!existsSync(dirname(path)))
    throw new UsageError(`there is no directory ${dirname(path)} for ${basename(path)}`);
}

/** Writes all bytes, or leaves the place as it was. Parts are written one after the other. */
export function writeAtomically(path: string, parts: Uint8Array | readonly Uint8Array[]): void {
  const pieces = parts instanceof Uint8Array ? [parts] : parts;
  if (path === '-') {
    for (const piece of pieces) write(piece);
    return;
  }
  // A link stays a link: what it points to is replaced.
  const place = statSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync(path);
  removeLeftOvers(place);
  const temporary = temporaryName(place, process.pid);
  let descriptor: number | undefined;
  try {
    descriptor = openSync(temporary, 'wx', modeOf(place));
    for (const piece of pieces) writeAll(descriptor, piece);
    fsyncSync(descriptor);
    closeSync(descriptor);
    descriptor = undefined;
    renameSync(temporary, place);
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    if (existsSync(temporary)) unlinkSync(temporary);
    throw error;
  }
  syncDirectory(dirname(place));
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

/** What a killed process left behind. Those of running processes stay. */
function removeLeftOvers(path: string): void {
  const prefix = `.${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(prefix) || !name.endsWith(SUFFIX)) continue;
    const pid = Number(name.slice(prefix.length, -SUFFIX.length));
    if (Number.isInteger(pid) && !isRunning(pid)) unlinkSync(join(dirname(path), name));
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

function modeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mode ?? 0o666;
}

const SUFFIX = '.bloomery-tmp';
