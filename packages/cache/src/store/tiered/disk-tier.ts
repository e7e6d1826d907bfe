/**
 * The disk below memory (tiered-store.ts): whether it works, and how much waits for it.
 *
 * A full disk, or no free descriptor, is no broken disk: what should be written is not kept, and the next may be. What else goes wrong puts it out of order for
 * good, for what is on it cannot be trusted to be there any more.
 *
 * A body that waits for a slow disk is in memory, and the store in memory does not count it. So it is counted here, and bounded.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import type { BodyWriter, LowerStore } from '../response-store.ts';

export interface DiskTierOptions {
  readonly store: LowerStore;
  /** Bytes of bodies that wait for the disk at the same time. */
  readonly maxWaitingBytes: number;
  /** Up to this part of its capacity there is room to spare. */
  readonly spareBelow: number;
  /** Called once. */
  broken(error: Error): void;
  full(error: Error): void;
}

export class DiskTier {
  readonly store: LowerStore;
  readonly #options: DiskTierOptions;
  #failure: Error | undefined;
  #waitingBytes = 0;
  #spareBytes = 0;

  constructor(options: DiskTierOptions) {
    this.store = options.store;
    this.#options = options;
  }

  /** Why it is out of order; undefined: it works. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Does something on the disk; if the disk is out of order, or this puts it out of order, gives `otherwise`. */
  async do<T>(otherwise: T, task: () => Promise<T> | T): Promise<T> {
    if (this.#failure !== undefined) return otherwise;
    try {
      return await task();
    } catch (error) {
      // Wrong arguments are the caller's mistake, not the disk's.
      if (error instanceof RangeError || error instanceof TypeError) throw error;
      this.writeFailed(error as Error);
      return otherwise;
    }
  }

  /** Whether it keeps up so far that a body of so many bytes may wait for it as well. */
  mayWait(bytes: number): boolean {
    return this.#waitingBytes + bytes <= this.#options.maxWaitingBytes;
  }

  /** Does something for which a body waits. */
  async waiting<T>(bytes: number, task: () => Promise<T>): Promise<T> {
    this.#waitingBytes += bytes;
    try {
      return await task();
    } finally {
      this.#waitingBytes -= bytes;
    }
  }

  /** What others are given at this moment is not in the statistics yet. */
  hasRoomToSpare(bodyLength: number): boolean {
    const { bytes, capacityBytes } = this.store.statistics;
    return bytes + this.#spareBytes + bodyLength <= this.#options.spareBelow * capacityBytes;
  }

  async commitSpare(response: StoredResponse, spooled: BodyWriter): Promise<boolean> {
    this.#spareBytes += response.bodyLength;
    try {
      return await spooled.commit(response);
    } finally {
      this.#spareBytes -= response.bodyLength;
    }
  }

  /** Nothing older than what is known may stay there. */
  async dropVariant(response: StoredResponse): Promise<void> {
    if (!this.store.has(response.key)) return;
    try {
      // What cannot be read now may be the one; it goes too, and is not there when the disk is well again.
      await this.store.removeVariant(response);
    } catch (error) {
      this.failed(error as Error);
    }
  }

  /** What cannot be removed is another matter: that is `failed`. */
  writeFailed(error: Error): void {
    if (isPassing(error)) this.#options.full(error);
    else this.failed(error);
  }

  failed(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#options.broken(error);
  }
}

/** What may be over a moment later. */
const PASSING = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);

function isPassing(error: unknown): boolean {
  for (let at = error as NodeJS.ErrnoException | undefined; at !== undefined; at = at.cause as typeof at) {
    if (at.code !== undefined && PASSING.has(at.code)) return true;
  }
  return false;
}
