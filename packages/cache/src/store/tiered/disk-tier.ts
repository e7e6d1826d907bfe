/**
 * The disk below memory (tiered-store.ts): whether it works, and how much data waits for it.
 *
 * A full disk, or a lack of descriptors, does not mean that the disk is broken: the current body is
 * not kept, but the next may be. Any other error puts the disk out of use permanently, because its
 * content can no longer be trusted.
 *
 * A body that waits for a slow disk is in memory, and the memory store does not count it. It is
 * therefore counted and bounded here.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import type { BodyWriter, LowerStore } from '../response-store.ts';

export interface DiskTierOptions {
  readonly store: LowerStore;
  /** Maximum bytes of bodies that wait for the disk at the same time. */
  readonly maxWaitingBytes: number;
  /** The fraction of its capacity up to which the disk has room to spare. */
  readonly spareBelow: number;
  /** Called once, when the disk is out of use. */
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

  /** Reason why the disk is out of use, or undefined if it works. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /**
   * Runs a task on the disk. Returns `otherwise` if the disk is out of use, or if the task fails
   * because of the disk.
   */
  async do<T>(otherwise: T, task: () => Promise<T> | T): Promise<T> {
    if (this.#failure !== undefined) return otherwise;
    try {
      return await task();
    } catch (error) {
      // Wrong arguments are the caller's error, not the disk's.
      if (error instanceof RangeError || error instanceof TypeError) throw error;
      this.writeFailed(error as Error);
      return otherwise;
    }
  }

  /** Whether the disk keeps up well enough that a body of `bytes` bytes may also wait for it. */
  mayWait(bytes: number): boolean {
    return this.#waitingBytes + bytes <= this.#options.maxWaitingBytes;
  }

  /** Runs a task for which a body of `bytes` bytes waits. */
  async waiting<T>(bytes: number, task: () => Promise<T>): Promise<T> {
    this.#waitingBytes += bytes;
    try {
      return await task();
    } finally {
      this.#waitingBytes -= bytes;
    }
  }

  /**
   * Whether there is room to spare, counting commits in progress, which are not in the statistics
   * yet.
   */
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

  /**
   * Removes the stored variant, so that nothing older than the known response stays on the disk.
   */
  async dropVariant(response: StoredResponse): Promise<void> {
    if (!this.store.has(response.key)) return;
    try {
      // An unreadable response may be the one. It is removed as well, so that it does not reappear
      // when the disk recovers.
      await this.store.removeVariant(response);
    } catch (error) {
      this.failed(error as Error);
    }
  }

  /** Handles the failure of a write. The failure of a removal is more serious: that is `failed`. */
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

/** Errors that may be gone a moment later. */
const PASSING = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);

function isPassing(error: unknown): boolean {
  for (let at = error as NodeJS.ErrnoException | undefined; at !== undefined; at = at.cause as typeof at) {
    if (at.code !== undefined && PASSING.has(at.code)) return true;
  }
  return false;
}
