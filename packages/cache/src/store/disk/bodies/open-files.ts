/**
 * Open descriptors, shared and counted.
 *
 * All readers of one body read through one descriptor (reads name their place, so nobody moves anybody's position), and it is closed
 * when the last lets go: a body that is evicted or replaced while somebody reads it stays readable for him, for a file that is
 * unlinked lives as long as it is open. A name (the digest of the body) finds the descriptor that is open already.
 *
 * Such a file takes its bytes on the disk until then, and no count here or in room.ts has them: with readers that stall the disk can hold more than the
 * capacity, by the bodies that went while they were read. How much that is, is bounded from outside: `limit` files at most, no more than the
 * proxy has clients, and for no longer than it lets a client stall. To count them would make one stalled client evict what others want.
 *
 * At most `limit` are open or being opened; whoever comes then waits for one to be closed, in the order of coming. Who leaves while he waits had
 * nothing to pass on: only a slot that was held wakes the next. Nobody who holds one waits for
 * another, so this cannot lock up; a client that stalls for ever is the proxy's to throw out.
 */

import { BodyError } from '../../response-store.ts';
import { closeFile, openFile } from '../file-io.ts';

export interface FileEvents {
  /** Nobody uses it any more, or it cannot be opened. Perhaps told twice. */
  left?(): void;
  /** There is no descriptor any more, or there never will be one. Told once. */
  closed?(): void;
}

export class SharedFile {
  /** -1 until it is open, and when it is closed. */
  fd = -1;
  readonly opening: Promise<void>;
  readonly #events: FileEvents;
  #users = 1;

  constructor(opening: Promise<number>, events: FileEvents = {}) {
    this.#events = events;
    this.opening = opening.then(
      (fd) => {
        this.fd = fd;
        // All may have left while it was opened.
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

  /** Users are counted from the moment they ask, not from the moment it is open: one that leaves at once closes it for nobody. */
  retain(): this {
    if (this.#users === 0) throw new Error('The file is closed: its descriptor may be that of another one');
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
  /** In the order of coming. */
  readonly #waiting = new Set<Waiter>();
  #open = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get open(): number {
    return this.#open;
  }

  /** The descriptor open under `name`, or a new one. Await `opening`, and release it if that worked. */
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
          waiter.giveUp(new BodyError('gone', 'The file was let go of before it was opened'));
        },
        closed: () => {
          if (!leftEarly) this.#passOn();
        },
      },
    );
    this.#shared.set(name, file);
    return file;
  }

  /** The file under this name is another from now on: who has the old one keeps it, who comes opens the new one. */
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
