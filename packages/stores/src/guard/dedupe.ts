/**
 * Tells whether an event comes for the first time, for queues and webhooks that deliver twice. The
 * answer is exact. The filter is asked first, and the store only on "maybe": a false positive of
 * the filter costs a question to the store, and never drops an event.
 *
 * An id is "new" once it has been recorded in the store. Ids of calls that run at the same time are
 * recorded together, so a burst of new events costs few writes and no read. A second call with an
 * id that is being recorded waits for the first one. If recording fails, both calls know of it, and
 * the next attempt is new again.
 *
 * What it needs: every id in the store is in the filter, or the filter says that it is not live. So
 * a filter is filled from the store at the start (`RebuiltFilter`), and ids of one kind go through
 * one process. Two processes with a filter each would both call an id new. Where several processes
 * take events from one queue, use a filter that they share, in its mode for test-and-set.
 *
 * A store that forgets ids after some time needs a filter that remembers them at least as long,
 * such as `RotatingBloomFilter`: it is advanced by the clock before each use.
 */

import { type GuardingFilter, isLive } from './guarded-filter.ts';

/** The exact memory behind the filter: a table, a set, keys with a time to live. */
export interface SeenStore {
  has(id: string): Promise<boolean> | boolean;
  /** Records ids. Those that are there already must not fail. */
  add(ids: readonly string[]): Promise<unknown> | unknown;
}

/** A filter for `dedupe`; one that rotates by time has `advance`. */
type SeenFilter = GuardingFilter & {
  add(key: string): unknown;
  advance?(nowMs: number): unknown;
};

export interface DedupeOptions {
  readonly filter: SeenFilter;
  /** Most ids that are recorded in one call of the store. Default 1000. */
  readonly mostIds?: number | undefined;
  /** Milliseconds since 1970, for a filter that rotates by time. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

export interface DedupeStats {
  readonly asked: number;
  /** New ids for which the store was not asked, only written. */
  readonly certainlyNew: number;
  /** The filter said maybe, and the store had the id, or it was being recorded. */
  readonly repeated: number;
  /** The filter said maybe, or was not live, and the store did not have the id. */
  readonly newByStore: number;
  /** Calls of `add` of the store. */
  readonly writes: number;
}

export interface Deduper {
  /** Resolves to true if the id was not seen before. Rejects if the store fails. */
  (id: string): Promise<boolean>;
  stats(): DedupeStats;
}

const MOST_IDS = 1000;

export function dedupe(store: SeenStore, options: DedupeOptions): Deduper {
  if (typeof store?.has !== 'function' || typeof store.add !== 'function')
    throw new TypeError('Cannot dedupe: expected a store with the methods has and add');
  const { filter, mostIds = MOST_IDS } = options ?? {};
  if (typeof filter?.has !== 'function' || typeof filter.add !== 'function')
    throw new TypeError('Cannot dedupe: expected { filter } with the methods has and add');
  if (!(Number.isInteger(mostIds) && mostIds > 0))
    throw new RangeError(`Cannot dedupe: expected mostIds, a whole number above 0, got ${mostIds}`);
  const memory = new SeenMemory(store, options);
  return Object.assign((id: string) => memory.isNew(id), { stats: () => memory.stats() });
}

class SeenMemory {
  readonly #store: SeenStore;
  readonly #filter: SeenFilter;
  readonly #now: () => number;
  readonly #recorder: Recorder;
  /** Calls that run, by their id. A call with the same id waits for them. */
  readonly #running = new Map<string, Promise<boolean>>();
  #asked = 0;
  #certainlyNew = 0;
  #repeated = 0;
  #newByStore = 0;

  constructor(store: SeenStore, { filter, mostIds = MOST_IDS, now = Date.now }: DedupeOptions) {
    this.#store = store;
    this.#filter = filter;
    this.#now = now;
    this.#recorder = new Recorder(store, mostIds);
  }

  async isNew(id: string): Promise<boolean> {
    if (typeof id !== 'string')
      throw new TypeError(`Cannot dedupe: expected an id as text, got ${typeof id}`);
    this.#asked++;
    const before = this.#running.get(id);
    if (before !== undefined) {
      await before;
      this.#repeated++;
      return false;
    }
    const answer = this.#decide(id);
    this.#running.set(id, answer);
    try {
      return await answer;
    } finally {
      this.#running.delete(id);
    }
  }

  stats(): DedupeStats {
    return {
      asked: this.#asked,
      certainlyNew: this.#certainlyNew,
      repeated: this.#repeated,
      newByStore: this.#newByStore,
      writes: this.#recorder.writes,
    };
  }

  async #decide(id: string): Promise<boolean> {
    this.#filter.advance?.(this.#now());
    const isCertain = isLive(this.#filter) && !this.#filter.has(id);
    if (!isCertain && (await this.#store.has(id))) {
      this.#repeated++;
      return false;
    }
    // The filter is told before the store. If the write fails, the filter says maybe next time, the
    // store says no, and the id is new as it should be.
    await this.#filter.add(id);
    await this.#recorder.record(id);
    if (isCertain) this.#certainlyNew++;
    else this.#newByStore++;
    return true;
  }
}

/**
 * Records ids, one write of the store at a time. Ids that come during a write go out together with
 * the next one.
 */
class Recorder {
  readonly #store: SeenStore;
  readonly #mostIds: number;
  #waiting: WaitingId[] = [];
  #isWriting = false;
  writes = 0;

  constructor(store: SeenStore, mostIds: number) {
    this.#store = store;
    this.#mostIds = mostIds;
  }

  record(id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ id, resolve, reject });
      if (this.#isWriting) return;
      this.#isWriting = true;
      // Ids of the same turn are in the first write as well.
      queueMicrotask(() => void this.#writeAll());
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#mostIds);
      this.writes++;
      try {
        await this.#store.add(batch.map(({ id }) => id));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isWriting = false;
  }
}

interface WaitingId {
  readonly id: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}
