/**
 * The folder on disk: made if it is not there, claimed so that no second node writes in it, and arranged for the number of workers.
 *
 * ```
 * FOLDER/bloomery-cache.json   { "format": 1, "workers": 2 }: this folder is ours
 * FOLDER/worker-0/ …           the store of each worker
 * ```
 *
 * A folder with other things in it and without that file is refused: a cache deletes what it finds old, and must not do so in somebody's home. With
 * another number of workers keys belong to others; what was stored is dropped then, because a copy under its former owner would miss
 * invalidations and come back stale when the number is changed again.
 *
 * The claim is a listening socket, which the kernel takes back however the process ends: no stale lock files. On Linux its name is in the abstract
 * namespace, elsewhere it is a file in the folder. Where it breaks down: two machines (or containers) with one network folder do not see each other.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import type { NodeConfig } from './config.ts';

const MARKER = 'bloomery-cache.json';
const FORMAT = 1;
/** Nodes of one user that were started without a word about their folder. */
const MOST_NODES = 16;

export interface DiskFolder {
  readonly folder: string;
  /** What was stored for another number of workers was dropped. */
  readonly rearranged: boolean;
  release(): void;
}

/** Another node has it. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError';
}

export async function claimDiskFolder(folder: string, workers: number): Promise<DiskFolder> {
  try {
    makeFolder(folder);
  } catch (error) {
    throw new Error(
      `Cannot make the folder ${folder}: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}; choose another one with --disk, or --no-disk`,
      { cause: error },
    );
  }
  const lock = await lockFolder(folder);
  try {
    return { folder, rearranged: arrange(folder, workers), release: () => lock.close() };
  } catch (error) {
    lock.close();
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
}: Pick<NodeConfig, 'disk' | 'diskDefaulted' | 'workers'>): Promise<DiskFolder | null> {
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

function arrange(folder: string, workers: number): boolean {
  const names = readdirSync(folder).filter((name) => name !== LOCK_NAME);
  const before = names.includes(MARKER) ? readMarker(join(folder, MARKER)) : null;
  if (before === null && names.length > 0) {
    throw new Error(
      `The folder ${folder} has other files in it (${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}): expected an empty one, or one that a cache has made`,
    );
  }
  const rearranged = before !== null && before !== workers;
  if (rearranged) {
    for (const name of names)
      if (/^worker-\d+$/.test(name)) rmSync(join(folder, name), { recursive: true, force: true });
  }
  if (before !== workers)
    writeFileSync(join(folder, MARKER), `${JSON.stringify({ format: FORMAT, workers })}\n`, { mode: 0o600 });
  return rearranged;
}

/** How many workers it was arranged for; 0: it cannot be read, so that it is arranged anew. */
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

async function lockFolder(folder: string): Promise<Server> {
  const place = realpathSync(folder);
  const name =
    process.platform === 'linux'
      ? `\0bloomery-cache-${createHash('sha256').update(place).digest('hex').slice(0, 40)}`
      : join(place, LOCK_NAME);
  if (process.platform !== 'linux' && !(await isAnswered(name))) rmSync(name, { force: true });
  const server = createServer((socket) => socket.destroy());
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE')
        reject(
          new FolderInUseError(
            `The folder ${folder} is in use by another node; choose another one with --disk, or --no-disk`,
          ),
        );
      else reject(error);
    });
    // Exclusive: a worker of node:cluster would ask its primary for the handle.
    server.listen({ path: name, exclusive: true }, resolve);
  });
  // It only has to be there: what goes wrong with who connects is nobody's affair.
  server.on('error', () => {});
  return server;
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

const LOCK_NAME = 'in-use.sock';
