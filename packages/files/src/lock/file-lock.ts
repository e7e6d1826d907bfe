/**
 * Allows one writer of a file at a time. A process that changes a file holds its lock from before
 * it reads until after it has written. If two changed it at once, each would write a version based
 * on what it had read, and the later one would undo the earlier. lock.ts says how the lock is made
 * and when it is stale.
 *
 * The owner gives no signs of life, because work on a file may keep its event loop busy for
 * minutes. So a lock of another machine, or of a container on a file system without sockets, is
 * respected until the user removes it.
 */

import { basename, dirname, join } from 'node:path';
import { FileError } from '../file-error.ts';
import { claimLock, Lock } from './lock.ts';
import type { LockPlace } from './lock-candidate.ts';
import { describeHolder, type LockHolder } from './lock-owner.ts';
import { pause } from './pause.ts';

export interface FileLock {
  /** Lets the next writer in. A second call does nothing. */
  release(): void;
}

export interface FileLockOptions {
  /** How long to wait for an owner that is alive. */
  readonly waitMs: number;
  /** Ends the wait without the lock when it returns true. */
  readonly until?: (() => boolean) | undefined;
  /** Ends the wait: the promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called once if the wait takes longer than half a second. */
  readonly waiting?: ((holder: LockHolder) => void) | undefined;
}

/**
 * Takes the lock of a file, and waits for it if necessary. `place` is the real path of the file,
 * not a link to it. Returns undefined if `until` ended the wait, and rejects with a
 * `FileLockedError` when the time is over.
 */
export async function lockFile(
  place: string,
  { waitMs, until, signal, waiting }: FileLockOptions,
): Promise<FileLock | undefined> {
  const start = performance.now();
  let told = false;
  for (;;) {
    const lock = await claimLock(placeOfLock(place), {
      signs: false,
      silenceMs: Number.POSITIVE_INFINITY,
      signal,
    });
    if (lock instanceof Lock) return lock;
    if (until?.()) return undefined;
    const waited = performance.now() - start;
    if (waited >= waitMs) throw new FileLockedError(place, lock, waitMs);
    if (!told && waited > QUIET_MS) {
      told = true;
      waiting?.(lock);
    }
    await pause(Math.min(POLL_MS, waitMs - waited), signal);
  }
}

/** The path of the lock of a file. */
export function lockName(place: string): string {
  const { folder, name } = placeOfLock(place);
  return join(folder, name);
}

/** Another process is changing the file, and did not finish in time. */
export class FileLockedError extends FileError {
  override readonly name = 'FileLockedError';
  readonly holder: LockHolder;
  readonly waitMs: number;

  constructor(place: string, holder: LockHolder, waitMs: number) {
    const who = describeHolder(holder);
    super(
      'held',
      place,
      `Cannot lock ${place}: expected it free within ${waitMs / 1000} s, but ${who} has it`,
    );
    this.holder = holder;
    this.waitMs = waitMs;
  }
}

const POLL_MS = 10;
const QUIET_MS = 500;

/**
 * Builds the names of the lock. The side names do not contain the name of the file, which may
 * already have the maximum length.
 */
function placeOfLock(place: string): LockPlace {
  return { folder: dirname(place), name: `.${basename(place)}.bloomery-lock`, side: '.bloomery-lock-' };
}
