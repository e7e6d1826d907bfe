/**
 * Allows one process to own a folder: two that write the same files in it would overwrite each
 * other's data. lock.ts says how the lock is made and when it is stale.
 *
 * The owner gives a sign of life every 5 s: it writes its lock again. So a claimant that cannot see
 * the owner, on another machine or in a container on a file system without sockets, waits for at
 * most 30 s. If an owner was stopped for so long that another took the folder, it notices by the
 * token in the lock, and `lost` is called.
 *
 * After kill -9 the next owner does not wait, even in another container. It waits only after a
 * reboot that took less than 30 s, or where it must rely on signs of life.
 */

import { closeSync, openSync, readFile, write } from 'node:fs';
import { FileError } from '../file-error.ts';
import { claimLock, Lock } from './lock.ts';
import { describeHolder, type LockHolder } from './lock-owner.ts';

export interface FolderLockOptions {
  /**
   * Called when another process has taken the folder, because this one was stopped. Nothing more
   * may be written.
   */
  readonly lost?: () => void;
  /** An owner that cannot be seen counts as gone after this silence. Default 30 s. */
  readonly silenceMs?: number;
  /** Ends the wait for an owner that cannot be seen: `take` rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

const SIGN_OF_LIFE_MS = 5_000;
const SILENCE_MS = 30_000;

export class FolderLock {
  readonly #lock: Lock;
  readonly #descriptor: number;
  readonly #timer: NodeJS.Timeout;
  readonly #lost: (() => void) | undefined;
  #released = false;

  private constructor(lock: Lock, lost: (() => void) | undefined) {
    this.#lock = lock;
    this.#lost = lost;
    // Opened by the final name, because tools that look for leaks report descriptors of removed
    // files.
    this.#descriptor = openSync(lock.path, 'r+');
    this.#timer = setInterval(() => this.#live(), SIGN_OF_LIFE_MS);
    this.#timer.unref();
  }

  /** Takes the lock of a folder. Rejects with a `FolderTakenError` if another process has it. */
  static async take(folder: string, options: FolderLockOptions = {}): Promise<FolderLock> {
    const { lost, silenceMs = SILENCE_MS, signal } = options;
    const place = { folder, name: 'lock', side: 'lock-' };
    const lock = await claimLock(place, { signs: true, silenceMs, signal });
    if (!(lock instanceof Lock)) throw new FolderTakenError(folder, lock);
    try {
      return new FolderLock(lock, lost);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Whether the last owner ended without releasing the lock. */
  get unclean(): boolean {
    return this.#lock.unclean;
  }

  /** Releases the lock. A second call does nothing. The lock of another owner stays. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    clearInterval(this.#timer);
    closeSync(this.#descriptor);
    this.#lock.release();
  }

  #live(): void {
    readFile(this.#lock.path, 'utf8', (error, text) => {
      if (this.#released) return;
      if (error === null && text !== this.#lock.text) {
        clearInterval(this.#timer);
        this.#lost?.();
        return;
      }
      // Writes the same bytes by the descriptor, which is our file even if another process has the
      // name now. That needs no room, and the time is that of the file system.
      write(this.#descriptor, this.#lock.text, 0, () => {});
    });
  }
}

/** Another process has the folder. */
export class FolderTakenError extends FileError {
  override readonly name = 'FolderTakenError';
  /** Description of the owner. */
  readonly who: string;

  constructor(folder: string, holder: LockHolder) {
    const who =
      holder.pid === undefined ? 'others are opening it as well' : `${describeHolder(holder)} has it open`;
    super('held', folder, `Cannot lock ${folder}: expected no other owner, but ${who}`);
    this.who = who;
  }
}

/** Whether a name in a folder belongs to its lock. */
export function isLockName(name: string): boolean {
  return /^lock(-[0-9a-z.-]+)?$/.test(name);
}
