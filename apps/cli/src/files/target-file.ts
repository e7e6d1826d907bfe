/**
 * The output file of a command. A target that cannot be written is refused before any work is done,
 * and the file is written completely or not at all (@bloomery/files). `-` is standard output.
 */

import { existsSync, lstatSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { errorCode, type WriteOptions, writeAtomically } from '@bloomery/files';
import { ClosedPipe, write } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';

/** Refuses a target that exists already, or that cannot be created. */
export function checkTarget(path: string, { force = false }: WriteOptions = {}): void {
  if (path === '-') {
    if (process.stdout.isTTY)
      throw new UsageError('standard output is a terminal; name a file, or pipe it on');
    return;
  }
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new UsageError(`${path} is a directory; name a file in it`);
  // A symbolic link with a missing target occupies the name as well.
  const taken = found === undefined ? lstatSync(path, { throwIfNoEntry: false }) : found.isFile();
  if (taken && !force) throw existing(path);
  if (!existsSync(dirname(path)))
    throw new UsageError(`there is no directory ${dirname(path)} for ${basename(path)}`);
}

/** Writes all bytes, or leaves the target as it was. */
export function writeTarget(
  path: string,
  parts: Uint8Array | Iterable<Uint8Array>,
  options: WriteOptions = {},
): void {
  if (path === '-') {
    for (const piece of parts instanceof Uint8Array ? [parts] : parts) write(piece);
    return;
  }
  try {
    writeAtomically(path, parts, options);
  } catch (error) {
    if (errorCode(error) === 'exists') throw existing(path);
    // The reader of a named pipe closed it.
    throw errorCode(error) === 'EPIPE' ? new ClosedPipe() : error;
  }
}

function existing(path: string): UsageError {
  return new UsageError(`${path} exists already; --force replaces it, nothing was changed`);
}
