/**
 * The folder on disk: created if it does not exist, claimed so that no second node writes to it,
 * and arranged for the number of workers.
 *
 * ```
 * FOLDER/bloomery-cache.json   { "format": 1, "workers": 2 }: this folder is ours
 * FOLDER/node-name             the name of the node, if it has no other
 * FOLDER/lock, lock-….sock     who has it
 * FOLDER/worker-0/ …           the store of each worker
 * ```
 *
 * A folder that contains other files but not that one is refused: a cache deletes old files, and
 * must not do so in a user's home folder. With another number of workers, keys have other owners.
 * The stored responses are then dropped, because a copy under its former owner would miss
 * invalidations and reappear stale when the number is changed back.
 *
 * A claim needs room for the lock. If the volume is full, the reserve of the stores is given up
 * (store/disk/reserve-file.ts). If that is not enough, the stores are dropped, unless the lock in
 * the folder has an owner that lives. They are dropped even if there is still no room after that
 * and the node goes on in memory. Such a node could not remove from the stores the responses that
 * are purged meanwhile.
 *
 * The claim is a lock like that of each store inside (@bloomery/files, which says where it breaks
 * down). Without it, a second node in another container, with another number of workers, would drop
 * the stores of the first one.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FolderLock, FolderTakenError, isLockName, isTemporaryName, writeAtomically } from '@bloomery/files';
import { isFullError } from '../store/disk/file-io.ts';
import { freeReserve } from '../store/disk/reserve-file.ts';
import type { NodeConfig } from './config/node-config.ts';
import type { Log } from './log/log.ts';
import { keptName } from './node-name.ts';

const MARKER = 'bloomery-cache.json';
const FORMAT = 1;
const WORKER_FOLDER = /^worker-\d+$/;
/** Maximum number of nodes of one user that were started without a configured folder. */
const MOST_NODES = 16;

export interface ClaimedFolder {
  readonly folder: string;
  /** The name of the node that uses this folder, if it has no other. */
  readonly name: string;
  /** Responses stored for another number of workers were dropped. */
  readonly rearranged: boolean;
  release(): void;
}

/** Another node uses the folder. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError';
}

export async function claimDiskFolder(
  folder: string,
  workers: number,
  signal?: AbortSignal,
): Promise<ClaimedFolder> {
  try {
    makeFolder(folder);
  } catch (error) {
    throw new Error(
      `Cannot make the folder ${folder}: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}; choose another one with --disk, or --no-disk`,
      { cause: error },
    );
  }
  // Checked before the lock creates files in the folder.
  const { names } = checkOurs(folder);
  // The lock needs room, which the stores have kept for this moment.
  for (const name of names) if (WORKER_FOLDER.test(name)) freeReserve(join(folder, name));
  const lock = await lockFolder(folder, signal).catch((error) => {
    if (!isFullError(error)) throw error;
    dropStores(folder, names);
    return lockFolder(folder, signal);
  });
  try {
    const rearranged = arrange(folder, workers);
    return { folder, name: keptName(folder), rearranged, release: () => lock.release() };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * Creates the folder and its parents. We do not use `recursive`: where nothing can be created
 * (/proc), Node 20 retries forever, and handles no signal meanwhile.
 */
function makeFolder(folder: string): void {
  try {
    // 0700: stored responses show what a user has read, which other users must not see.
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
    makeFolder(dirname(folder));
    mkdirSync(folder, { mode: 0o700 });
  }
}

/**
 * Claims the configured folder. If it is the default and another node uses it, `http-2` next to it
 * is tried, and so on. Returns null if no folder is configured, or if its volume has no room even
 * for a lock: then the node goes on in memory, which is logged.
 */
export async function claimConfiguredFolder(
  { disk, diskDefaulted, workers }: Pick<NodeConfig, 'disk' | 'diskDefaulted' | 'workers'>,
  log: Pick<Log, 'event'>,
  signal?: AbortSignal,
): Promise<ClaimedFolder | null> {
  if (disk === null) return null;
  for (let number = 1; ; number++) {
    const folder = number === 1 ? disk.folder : `${disk.folder}-${number}`;
    try {
      const claimed = await claimDiskFolder(folder, workers, signal);
      const danger = writersOf(folder);
      if (danger !== null) log.event('warn', 'disk-exposed', { folder, problem: danger });
      if (claimed.rearranged) log.event('warn', 'disk-rearranged', { folder, workers });
      return claimed;
    } catch (error) {
      if (isFullError(error)) {
        logUnused(log, folder, error);
        return null;
      }
      if (!(error instanceof FolderInUseError) || !diskDefaulted || number >= MOST_NODES) throw error;
    }
  }
}

/**
 * Describes who else can change the files of the folder, or returns null. Such a user decides what
 * this node serves: checksums protect against damage, not against intent. On Windows, modes say
 * nothing.
 */
function writersOf(folder: string): string | null {
  if (process.getuid === undefined) return null;
  const { mode, uid } = statSync(folder);
  if ((mode & 0o022) !== 0) {
    const who = (mode & 0o002) !== 0 ? 'every user' : 'its group';
    return `${who} can write in it (mode ${(mode & 0o777).toString(8)}) and so change what is served; chmod 700 ${folder}`;
  }
  const own = process.getuid();
  // Root can write everywhere in any case.
  if (uid !== own && uid !== 0) return `it belongs to user ${uid}, who can change what is served`;
  return null;
}

/** Logs that a volume without room is not used. */
export function logUnused(log: Pick<Log, 'event'>, folder: string, error: unknown): void {
  const note = 'the volume is full; responses are kept in memory until the next start';
  log.event('warn', 'disk-unused', { folder, problem: error, note });
}

/** The folder of one worker. */
export function workerFolder(folder: string, index: number): string {
  return join(folder, `worker-${index}`);
}

/**
 * The names in the folder, and the number of workers that it was arranged for, or null if it is
 * empty.
 */
function checkOurs(folder: string): { readonly names: readonly string[]; readonly before: number | null } {
  const names = readdirSync(folder).filter((name) => !isLockName(name) && !isTemporaryName(name));
  const before = names.includes(MARKER) ? readMarker(join(folder, MARKER)) : null;
  if (before === null && names.length > 0) {
    throw new Error(
      `Cannot use the folder ${folder}: expected an empty one, or one that a cache has made, got other files in it (${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''})`,
    );
  }
  return { names, before };
}

function arrange(folder: string, workers: number): boolean {
  const { names, before } = checkOurs(folder);
  const rearranged = before !== null && before !== workers;
  if (rearranged) dropStores(folder, names);
  if (before !== workers)
    writeAtomically(join(folder, MARKER), Buffer.from(`${JSON.stringify({ format: FORMAT, workers })}\n`), {
      mode: 0o600,
    });
  return rearranged;
}

function dropStores(folder: string, names: readonly string[]): void {
  for (const name of names)
    if (WORKER_FOLDER.test(name)) rmSync(join(folder, name), { recursive: true, force: true });
}

/**
 * The number of workers that the folder was arranged for, or 0 if the file cannot be read, so that
 * it is arranged again.
 */
function readMarker(path: string): number {
  let content: { format?: unknown; workers?: unknown };
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return 0;
  }
  if (typeof content.format === 'number' && content.format > FORMAT) {
    throw new Error(
      `Cannot read ${path}: expected format ${FORMAT}, got format ${content.format} of a later version; use another folder, or remove it`,
    );
  }
  return typeof content.workers === 'number' ? content.workers : 0;
}

async function lockFolder(folder: string, signal: AbortSignal | undefined): Promise<FolderLock> {
  try {
    return await FolderLock.take(folder, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof FolderTakenError)) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new Error(
        `Cannot write in the folder ${folder}: ${code ?? message}; choose another one with --disk, or --no-disk`,
        { cause: error },
      );
    }
    throw new FolderInUseError(
      `Cannot use the folder ${folder}: it is in use by another node (${error.who}); choose another one with --disk, or --no-disk`,
      { cause: error },
    );
  }
}
