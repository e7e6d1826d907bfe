/**
 * The folder of the user's friends: `ann@example.org.key` is the secret that the user shares with
 * Ann, and `ann@example.org.share` the newest filter that Ann sent. Names of files are addresses in
 * their one spelling, so a name can never lead out of the folder.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from '@bloomery/files';
import { Acquaintances, normalizeAddress, openSealed, SharingError } from '@bloomery/overlay/private';
import { readKeyBytes } from '../files/secret-key-file.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

const KEY = '.key';
const SHARE = '.share';

export interface FriendsFolder {
  readonly acquaintances: Acquaintances;
  /** Friends whose filter is missing or cannot be opened. */
  readonly silent: readonly string[];
}

/** Opens all filters. One that cannot be opened is left out, with a warning. */
export function readFriends(folder: string): FriendsFolder {
  const acquaintances = new Acquaintances();
  const silent: string[] = [];
  for (const name of friendNames(folder)) {
    const path = join(folder, name + SHARE);
    try {
      if (!existsSync(path)) silent.push(name);
      else acquaintances.set(name, open(folder, name, readFileSync(path)).filter);
    } catch (error) {
      if (!(error instanceof SharingError || error instanceof UsageError)) throw error;
      warn(`${path}: ${error.message}; the friend is left out`);
      silent.push(name);
    }
  }
  return { acquaintances, silent };
}

/** The outcome of a filter that came. */
export type Kept = 'kept' | 'older' | 'same';

/**
 * Keeps the filter of a friend, if it is newer than the one that is there. Throws a `SharingError`
 * if it is not the friend's, and a `UsageError` if there is no secret for this sender.
 */
export function keepShare(folder: string, from: string, bytes: Uint8Array): Kept {
  if (!friendNames(folder).includes(from)) {
    throw new UsageError(
      `there is no secret for ${from} in ${folder}; put it into ${join(folder, from + KEY)}`,
    );
  }
  const { issued } = open(folder, from, bytes);
  const path = join(folder, from + SHARE);
  if (existsSync(path)) {
    const there = readFileSync(path);
    if (Buffer.compare(there, bytes) === 0) return 'same';
    try {
      if (open(folder, from, there).issued >= issued) return 'older';
    } catch (error) {
      if (!(error instanceof SharingError)) throw error; // one that cannot be opened is replaced
    }
  }
  writeAtomically(path, bytes, { force: true });
  return 'kept';
}

function open(folder: string, name: string, bytes: Uint8Array) {
  return openSealed(bytes, { secret: readKeyBytes(join(folder, name + KEY)), from: name });
}

/** The addresses with a secret, sorted. */
function friendNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(KEY))
    .map((name) => name.slice(0, -KEY.length))
    .filter((name) => normalizeAddress(name) === name && !/[\\/\0]/.test(name))
    .sort();
}
