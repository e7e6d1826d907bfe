/**
 * A claimant of a lock: a finished lock that only needs its name (lock.ts). It is a file and a
 * socket in the full form, or only a text in the short form (lock-owner.ts), if there is no room
 * for a file or the file system has no hard links.
 */

import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../file-error.ts';
import { ownShortText, ownText } from './lock-owner.ts';
import { LockSocket } from './lock-socket.ts';

export interface LockPlace {
  readonly folder: string;
  /** Name of the lock in the folder. */
  readonly name: string;
  /** Prefix of the names of sockets and of unfinished locks. */
  readonly side: string;
}

export interface ClaimOptions {
  /** Whether the owner will write its lock again every 5 s. */
  readonly signs: boolean;
  /** An owner that promised signs and gave none for this long counts as gone. */
  readonly silenceMs: number;
  /** Ends the wait for signs; the claim rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A claimant: a finished lock that only needs its name. */
export class LockCandidate {
  readonly place: LockPlace;
  readonly options: ClaimOptions;
  readonly token: string = randomBytes(8).toString('hex');
  foundStale = false;
  text = '';
  socket: LockSocket | undefined;
  /** Path of the full form under its first name; undefined if only the short form is possible. */
  file: string | undefined;

  private constructor(place: LockPlace, options: ClaimOptions) {
    this.place = place;
    this.options = options;
  }

  static async make(place: LockPlace, options: ClaimOptions): Promise<LockCandidate> {
    const candidate = new LockCandidate(place, options);
    const { token } = candidate;
    const socket = `${place.side}${token}.sock`;
    candidate.file = join(place.folder, `${place.side}${token}`);
    try {
      candidate.#write(ownText(token, socket, options.signs), 'wx');
      candidate.#showToAll();
      // The socket is made after the file: if this process is killed here, the next owner finds
      // both by the file.
      candidate.socket = await LockSocket.listen(place.folder, socket);
      if (candidate.socket === undefined) candidate.#write(ownText(token, '', options.signs), 'w');
    } catch (error) {
      if (options.signs || !NO_ROOM.includes(errorCode(error) ?? '')) {
        candidate.close(false);
        throw Object.assign(error as Error, { path: join(place.folder, place.name) });
      }
      candidate.#shorten();
    }
    return candidate;
  }

  /** Makes the lock. Returns false if there is one already. */
  linkTo(path: string): boolean {
    if (this.file !== undefined) {
      const made = attempt(() => linkSync(this.file!, path), this.options.signs);
      if (made !== undefined) return made;
      this.#shorten();
    }
    const made = attempt(() => symlinkSync(this.text, path), false);
    return made ?? attempt(() => writeFileSync(path, this.text, { flag: 'wx' }), true) ?? false;
  }

  /** The current time by the clock of the file system. */
  now(): number {
    return this.file === undefined ? Date.now() : statSync(this.file).mtimeMs;
  }

  close(won: boolean): void {
    if (this.file !== undefined) rmSync(this.file, { force: true });
    if (!won) this.socket?.close();
  }

  #write(text: string, flag: 'w' | 'wx'): void {
    writeFileSync(this.file!, text, { flag });
    this.text = text;
  }

  /**
   * Makes the lock readable for all users, who must be able to tell the owner whatever the umask
   * is. Some file systems have no modes.
   */
  #showToAll(): void {
    try {
      chmodSync(this.file!, 0o644);
    } catch {
      // Then the mode is the same for all files there.
    }
  }

  #shorten(): void {
    this.close(false);
    this.file = undefined;
    this.socket = undefined;
    this.text = ownShortText(this.token);
  }
}

/**
 * True if `make` made the lock, false if there is one; undefined if such a link is impossible here.
 */
function attempt(make: () => void, mustWork: boolean): boolean | undefined {
  try {
    make();
    return true;
  } catch (error) {
    const code = errorCode(error) ?? '';
    if (code === 'EEXIST') return false;
    if (mustWork || !NO_LINKS.includes(code)) throw error;
    return undefined;
  }
}

/** Error codes of systems and file systems that lack a kind of link. */
const NO_LINKS = ['EPERM', 'ENOSYS', 'EOPNOTSUPP', 'ENOTSUP', 'EINVAL'];
const NO_ROOM = ['ENOSPC', 'EDQUOT'];
