/**
 * Keeps an arriving body in memory: the bytes stay in the spool, and are counted here. A body is
 * kept while it is not longer than the store accepts, and while all arriving bodies together are
 * within their limit.
 *
 * We refused to reserve `Content-Length` bytes at once: a thousand false lengths would take a
 * gigabyte.
 */

import type { Backing } from '../spool.ts';

/** The arriving bodies of a store, together. */
export interface PendingBodies {
  pendingBytes: number;
  readonly maxPendingBytes: number;
  readonly maxBodyBytes: number;
}

export class MemoryBacking implements Backing {
  readonly end = 0;
  readonly #pending: PendingBodies;
  /** Bytes of this body in `pendingBytes`. */
  #counted = 0;

  constructor(pending: PendingBodies) {
    this.#pending = pending;
  }

  /** Whether a body of `length` bytes could be kept. */
  fits(length: number): boolean {
    const { pendingBytes, maxPendingBytes, maxBodyBytes } = this.#pending;
    return length <= maxBodyBytes && pendingBytes + length - this.#counted <= maxPendingBytes;
  }

  admit(length: number): boolean {
    if (!this.fits(length)) return false;
    this.#pending.pendingBytes += length - this.#counted;
    this.#counted = length;
    return true;
  }

  settle(): undefined {}

  read(at: number): Promise<never> {
    return Promise.reject(
      new RangeError(`Cannot read a file: expected a byte in it, got byte ${at} of a body in memory`),
    );
  }

  dismiss(): void {
    this.#pending.pendingBytes -= this.#counted;
    this.#counted = 0;
  }

  close(): void {}
}
