/**
 * Recently read heads, with their small bodies, limited to some megabytes: the same few pages are
 * requested again and again. It is not a second memory store: hot responses belong in one
 * (tiered-store.ts), and this cache only saves a read for the responses in between.
 */

import type { StoredResponse } from '../../../policy/stored-response.ts';

export interface LoadedHead {
  readonly id: number;
  readonly low: number;
  readonly high: number;
  readonly response: StoredResponse;
  /** The body, or null if it is in a file. */
  readonly bytes: Uint8Array | null;
  readonly recordBytes: number;
}

/** An object and its strings take more memory than their bytes. */
const OVERHEAD = 2;

export class HeadCache {
  readonly #limit: number;
  readonly #heads = new Map<number, LoadedHead>();
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(id: number): LoadedHead | undefined {
    const head = this.#heads.get(id);
    if (head === undefined) return undefined;
    // The map is in the order of use.
    this.#heads.delete(id);
    this.#heads.set(id, head);
    return head;
  }

  set(head: LoadedHead): void {
    this.delete(head.id);
    const cost = head.recordBytes * OVERHEAD;
    // A head that would evict many others is not cached.
    if (cost > this.#limit / 8) return;
    this.#heads.set(head.id, head);
    this.#bytes += cost;
    while (this.#bytes > this.#limit) {
      const [oldest] = this.#heads.keys();
      this.delete(oldest);
    }
  }

  delete(id: number): void {
    const head = this.#heads.get(id);
    if (head === undefined) return;
    this.#heads.delete(id);
    this.#bytes -= head.recordBytes * OVERHEAD;
  }

  clear(): void {
    this.#heads.clear();
    this.#bytes = 0;
  }
}
