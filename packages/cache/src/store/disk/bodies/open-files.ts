/**
 * Open descriptors, shared and counted.
 *
 * All readers of one body read through one descriptor (each read states its position, so readers do
 * not affect each other), and the last one closes it. A body that is evicted or replaced while it
 * is read stays readable for its readers, because an unlinked file exists as long as it is open. A
 * name (the digest of the body) finds the descriptor that is already open.
 *
 * Such an unlinked file occupies disk space until it is closed, and is counted neither here nor in
 * room.ts. With stalled readers the disk can therefore hold more than the capacity, by the bodies
 * that were deleted while they were read. That excess is bounded from outside: `limit` files at
 * most, no more than the proxy has clients, and for no longer than it lets a client stall. Counting
 * them would make one stalled client evict bodies that others want.
 *
 * At most `limit` files are open or being opened. Further requests wait for one to be closed, first
 * come, first served. A request that is cancelled while it waits held no slot, so it wakes no
 * other: only the release of a held slot wakes the next request. No holder of a descriptor waits
 * for another one, so there is no deadlock; the proxy disconnects a client that stalls forever.
 */

import { BodyError } from '../../response-store.ts';
import { closeFile, openFile } from '../file-io.ts';

export interface FileEvents {
  /** The file has no users any more, or cannot be opened. May be called twice. */
  left?(): void;
  /** There is no descriptor any more, or there never will be one. Called once. */
  closed?(): void;
}

export class SharedFile {
  /** -1 until it is open, and after it is closed. */
  fd = -1;
  readonly opening: Promise<void>;
  readonly #events: FileEvents;
  #users = 1;

  constructor(opening: Promise<number>, events: FileEvents = {}) {
    this.#events = events;
    this.opening = opening.then(
      (fd) => {
        this.fd = fd;
        // All users may have left while it was being opened.
        if (this.#users === 0) this.#close();
      },
      (error) => {
        events.left?.();
        events.closed?.();
        throw error;
      },
    );
    this.opening.catch(() => {});
  }

  /**
   * Users are counted from the moment they ask, not from the moment the file is open, so one that
   * leaves at once does not close it for others.
   */
  retain(): this {
    if (this.#users === 0)
      throw new Error('Cannot share a file: it is closed, and its descriptor may be that of another one');
    this.#users++;
    return this;
  }

  release(): void {
    if (--this.#users > 0) return;
    this.#events.left?.();
    if (this.fd >= 0) this.#close();
  }

  #close(): void {
    closeFile(this.fd);
    this.fd = -1;
    this.#events.closed?.();
  }
}

interface Waiter {
  begin(): void;
  giveUp(error: Error): void;
}

export class OpenFiles {
  readonly #limit: number;
  readonly #shared = new Map<string, SharedFile>();
  /** In the order of arrival. */
  readonly #waiting = new Set<Waiter>();
  #open = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get open(): number {
    return this.#open;
  }

  /**
   * The descriptor that is open under `name`, or a new one. Await `opening`, and release it if that
   * succeeded.
   */
  acquire(name: string, path: string, flags = 'r'): SharedFile {
    const known = this.#shared.get(name);
    if (known !== undefined) return known.retain();
    let waiter: Waiter | undefined;
    let leftEarly = false;
    const slot = new Promise<void>((begin, giveUp) => {
      if (this.#open < this.#limit) {
        this.#open++;
        begin();
      } else {
        waiter = { begin, giveUp };
        this.#waiting.add(waiter);
      }
    });
    const file: SharedFile = new SharedFile(
      slot.then(() => openFile(path, flags)),
      {
        left: () => {
          if (this.#shared.get(name) === file) this.#shared.delete(name);
          if (waiter === undefined || !this.#waiting.delete(waiter)) return;
          leftEarly = true;
          waiter.giveUp(new BodyError('gone', 'Cannot open a file: its last user left before'));
        },
        closed: () => {
          if (!leftEarly) this.#passOn();
        },
      },
    );
    this.#shared.set(name, file);
    return file;
  }

  /**
   * The file under this name is a new one from now on: current users keep the old one, later ones
   * open the new one.
   */
  forget(name: string): void {
    this.#shared.delete(name);
  }

  #passOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#open--;
      return;
    }
    this.#waiting.delete(next);
    next.begin();
  }
}
