/**
 * Open descriptors, shared and counted.
 *
 * All readers of one body read through one descriptor (reads name their place, so nobody moves anybody's position), and it is closed
 * when the last lets go: a body that is evicted or replaced while somebody reads it stays readable for him, for a file that is
 * unlinked lives as long as it is open. A name (the digest of the body) finds the descriptor that is open already.
 *
 * At most `limit` are open; whoever comes then waits for one to be closed, in the order of coming. Nobody who holds one waits for
 * another, so this cannot lock up; a client that stalls for ever is the proxy's to throw out.
 */

import { closeFile, openFile } from './file-io.ts';

export class SharedFile {
  /** -1 until it is open. */
  fd = -1;
  readonly opening: Promise<void>;
  #users = 1;
  #closed: (() => void) | undefined;

  constructor(opening: Promise<number>, closed: () => void) {
    this.#closed = closed;
    this.opening = opening.then(
      (fd) => {
        this.fd = fd;
        // All may have left while it was opened.
        if (this.#users === 0) closeFile(fd);
      },
      (error) => {
        this.#leave();
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
    if (this.fd >= 0) closeFile(this.fd);
    this.fd = -1;
    this.#leave();
  }

  #leave(): void {
    this.#closed?.();
    this.#closed = undefined;
  }
}

export class OpenFiles {
  readonly #limit: number;
  readonly #shared = new Map<string, SharedFile>();
  readonly #waiting: (() => void)[] = [];
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
    const file: SharedFile = new SharedFile(
      this.#slot().then(() => openFile(path, flags)),
      () => {
        if (this.#shared.get(name) === file) this.#shared.delete(name);
        this.#open--;
        this.#waiting.shift()?.();
      },
    );
    this.#shared.set(name, file);
    return file;
  }

  /** The file under this name is another from now on: who has the old one keeps it, who comes opens the new one. */
  forget(name: string): void {
    this.#shared.delete(name);
  }

  #slot(): Promise<void> {
    // Counted at once, also while waiting: `#open` beyond the limit is the number of those who wait.
    if (this.#open++ < this.#limit) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
