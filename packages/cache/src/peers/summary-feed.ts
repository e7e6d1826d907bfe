/**
 * Feeds the summary of this node from its store: which keys have a response that a neighbour may
 * have, and until when it is fresh.
 *
 * The store tells which keys change. The feed then looks the key up, because a key may have several
 * responses (Vary), and one that may be shared is enough. That look does not count as a use. Copies
 * that came from a neighbour are left out: that neighbour publishes them already, and they come and
 * go often.
 *
 * At the start all keys of the store are read, some at a time, so a node with a large disk begins
 * to serve at once and its summary becomes complete within seconds. Changes that the store tells
 * meanwhile count as well, in any order, because each look-up reads the present state.
 */

import type { StoredResponse } from '../policy/stored-response.ts';
import type { ResponseStore } from '../store/response-store.ts';
import type { KeyedHash } from './neighbour-port.ts';

/** The taker of what a feed tells: the summary itself, or a channel to the process that has it. */
export interface SummarySink<Hash = KeyedHash> {
  /** The key may be shared until this time, in milliseconds since 1970. */
  keep(hash: Hash, until: number): void;
  /** The key has no response any more that may be shared. */
  drop(hash: Hash): void;
}

/**
 * `Hash` is the name of a key at the sink: its keyed hash, or the URL itself for Squid's digest.
 */
export interface SummaryFeedOptions<Hash = KeyedHash> {
  readonly store: ResponseStore;
  /** The hashes of a key, one for each secret of the fleet. */
  readonly hashes: (key: string) => readonly Hash[];
  /** The time at which a response becomes stale, or null if it must not be shared. */
  readonly shareableUntil: (response: StoredResponse) => number | null;
  readonly sink: SummarySink<Hash>;
  /** Gives the event loop to others. */
  readonly pause: () => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** Keys that are looked up between two pauses. */
const BATCH = 64;

export class SummaryFeed<Hash = KeyedHash> {
  readonly #options: SummaryFeedOptions<Hash>;
  readonly #stopWatching: () => void;
  /** Keys whose look-up runs; true if they changed again since it began. */
  readonly #running = new Map<string, boolean>();
  #isClosed = false;

  constructor(options: SummaryFeedOptions<Hash>) {
    this.#options = options;
    this.#stopWatching = options.store.watch((key) => this.#look(key));
  }

  /**
   * Reads all keys that are stored now. Resolves when it has read them. It is called again when
   * there is a new secret.
   */
  async readAll(): Promise<void> {
    const { store, pause, failed } = this.#options;
    let count = 0;
    try {
      for await (const key of store.keys()) {
        if (this.#isClosed) return;
        this.#look(key);
        if (++count % BATCH === 0) await pause();
      }
    } catch (error) {
      failed(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#stopWatching();
  }

  #look(key: string): void {
    if (this.#isClosed) return;
    if (this.#running.has(key)) {
      this.#running.set(key, true);
      return;
    }
    const found = this.#options.store.peek(key);
    if (!(found instanceof Promise)) {
      this.#tell(key, found);
      return;
    }
    this.#running.set(key, false);
    found
      .then((responses) => this.#tell(key, responses), this.#options.failed)
      .finally(() => {
        const changed = this.#running.get(key);
        this.#running.delete(key);
        if (changed) this.#look(key);
      });
  }

  #tell(key: string, responses: readonly StoredResponse[]): void {
    if (this.#isClosed) return;
    const { hashes, shareableUntil, sink } = this.#options;
    let until: number | null = null;
    for (const response of responses) {
      const own = shareableUntil(response);
      if (own !== null && own > (until ?? 0)) until = own;
    }
    for (const hash of hashes(key))
      if (until === null) sink.drop(hash);
      else sink.keep(hash, until);
  }
}
