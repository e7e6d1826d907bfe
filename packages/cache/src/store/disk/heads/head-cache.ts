/**
 * Heads that were read lately, with their small bodies, as far as they fit into some megabytes: the same few pages are asked for again and
 * again. It is no second memory store: hot responses belong into one (tiered-store.ts), this only saves a read for what is between.
 */

import type { StoredResponse } from '../../../policy/stored-response.ts';

export interface LoadedHead {
  readonly id: number;
  readonly low: number;
  readonly high: number;
  readonly response: StoredResponse;
  /** null: the body is a file. */
  readonly bytes: Uint8Array | null;
  readonly recordBytes: number;
}

/** An object and its strings take more than their bytes. */
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
    // The order of the map is the order of use.
    this.#heads.delete(id);
    this.#heads.set(id, head);
    return head;
  }

  set(head: LoadedHead): void {
    this.delete(head.id);
    const cost = head.recordBytes * OVERHEAD;
    // One that would push out most others is not worth it.
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
