/**
 * The folder on disk: made if it is not there, claimed so that no second node writes in it, and arranged for the number of workers.
 *
 * ```
 * FOLDER/bloomery-cache.json   { "format": 1, "workers": 2 }: this folder is ours
 * FOLDER/lock, lock-….sock     who has it
 * FOLDER/worker-0/ …           the store of each worker
 * ```
 *
 * A folder with other things in it and without that file is refused: a cache deletes what it finds old, and must not do so in somebody's home. With
 * another number of workers keys belong to others; what was stored is dropped then, because a copy under its former owner would miss
 * invalidations and come back stale when the number is changed again.
 *
 * The claim is a lock as that of each store within (@bloomery/files, which says where it breaks down): a second node in another container, with
 * another number of workers, would else drop the stores under the first one.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FolderLock, FolderTakenError, isLockName, isTemporaryName, writeAtomically } from '@bloomery/files';
import type { NodeConfig } from './config/node-config.ts';

const MARKER = 'bloomery-cache.json';
const FORMAT = 1;
/** Nodes of one user that were started without a word about their folder. */
const MOST_NODES = 16;

export interface ClaimedFolder {
  readonly folder: string;
  /** What was stored for another number of workers was dropped. */
  readonly rearranged: boolean;
  release(): void;
}

/** Another node has it. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError';
}

export async function claimDiskFolder(folder: string, workers: number): Promise<ClaimedFolder> {
  try {
    makeFolder(folder);
  } catch (error) {
    throw new Error(
      `Cannot make the folder ${folder}: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}; choose another one with --disk, or --no-disk`,
      { cause: error },
    );
  }
  // Before the lock leaves a trace in it.
  checkOurs(folder);
  const lock = await lockFolder(folder);
  try {
    return { folder, rearranged: arrange(folder, workers), release: () => lock.release() };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** With those above it. Not by `recursive`: where nothing can be made (/proc), Node 20 tries for ever, and hears no signal meanwhile. */
function makeFolder(folder: string): void {
  try {
    // 0700: what somebody read is nobody else's business.
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
    makeFolder(dirname(folder));
    mkdirSync(folder, { mode: 0o700 });
  }
}

/** The one that is configured; if nobody chose it and another node has it, `http-2` beside it and so on. */
export async function claimConfiguredFolder({
  disk,
  diskDefaulted,
  workers,
}: Pick<NodeConfig, 'disk' | 'diskDefaulted' | 'workers'>): Promise<ClaimedFolder | null> {
  if (disk === null) return null;
  for (let number = 1; ; number++) {
    try {
      return await claimDiskFolder(number === 1 ? disk.folder : `${disk.folder}-${number}`, workers);
    } catch (error) {
      if (!(error instanceof FolderInUseError) || !diskDefaulted || number >= MOST_NODES) throw error;
    }
  }
}

/** Of one worker. */
export function workerFolder(folder: string, index: number): string {
  return join(folder, `worker-${index}`);
}

/** The names in it, and for how many workers it was arranged; null: it is empty. */
function checkOurs(folder: string): { readonly names: readonly string[]; readonly before: number | null } {
  const names = readdirSync(folder).filter((name) => !isLockName(name) && !isTemporaryName(name));
  const before = names.includes(MARKER) ? readMarker(join(folder, MARKER)) : null;
  if (before === null && names.length > 0) {
    throw new Error(
      `The folder ${folder} has other files in it (${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}): expected an empty one, or one that a cache has made`,
    );
  }
  return { names, before };
}

function arrange(folder: string, workers: number): boolean {
  const { names, before } = checkOurs(folder);
  const rearranged = before !== null && before !== workers;
  if (rearranged) {
    for (const name of names)
      if (/^worker-\d+$/.test(name)) rmSync(join(folder, name), { recursive: true, force: true });
  }
  if (before !== workers)
    writeAtomically(join(folder, MARKER), Buffer.from(`${JSON.stringify({ format: FORMAT, workers })}\n`), {
      mode: 0o600,
    });
  return rearranged;
}

/** How many workers it was arranged for; 0 if it cannot be read, so that it is arranged again. */
function readMarker(path: string): number {
  let content: { format?: unknown; workers?: unknown };
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return 0;
  }
  if (typeof content.format === 'number' && content.format > FORMAT) {
    throw new Error(
      `${path} was written by a later version (format ${content.format}, expected ${FORMAT}); use another folder, or remove it`,
    );
  }
  return typeof content.workers === 'number' ? content.workers : 0;
}

async function lockFolder(folder: string): Promise<FolderLock> {
  try {
    return await FolderLock.take(folder);
  } catch (error) {
    if (!(error instanceof FolderTakenError)) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new Error(
        `Cannot write in the folder ${folder}: ${code ?? message}; choose another one with --disk, or --no-disk`,
        { cause: error },
      );
    }
    throw new FolderInUseError(
      `The folder ${folder} is in use by another node (${error.who}); choose another one with --disk, or --no-disk`,
      { cause: error },
    );
  }
}
