/**
 * A filter that is built from the store it guards: at the start, and again by a schedule. Rows
 * disappear, and a Bloom filter forgets only by being rebuilt.
 *
 * What it promises: no false negative for a key that the source showed in the last rebuild, or that
 * was added since. Adds during a rebuild go into the filter in use and into the next one. So do
 * adds of the minute before (`graceMs`), because the source may be read in a transaction that does
 * not see their rows yet. Until the first rebuild is done, and whenever the filter is older than
 * `maxAgeMs`, `state` is not 'live' and `has` answers "maybe" to everything. A rebuild that fails
 * leaves the filter in use as it is, and is tried again if there is a schedule. The first build of
 * `start` is tried again in any case.
 *
 * The size need not be known. The source is read once into hashes (8 bytes for each key), and the
 * filter is then made for their number and a quarter more. If adds use that room up, a filter with
 * a schedule is rebuilt early.
 *
 * Where it breaks down: rows that another process inserts are unknown here until the next rebuild.
 * Several processes that insert need one filter that they share.
 */

import {
  BlockedBloomFilter,
  BloomFilter,
  type HashOptions,
  type HashScheme,
  hashKey,
  hashScheme,
  type Key,
} from 'bloomery';
import { abortable } from './abortable.ts';
import type { GuardingFilter } from './guarded-filter.ts';
import { HashGatherer } from './hash-gatherer.ts';
import { keyBatches } from './key-batches.ts';
import { RecentAdds } from './recent-adds.ts';

/** Only 'live' answers count; see `GuardingFilter`. */
export type RebuiltState = 'building' | 'live' | 'stale' | 'closed';

export interface RebuiltFilterOptions extends HashOptions {
  /**
   * All keys of the store, read again for each rebuild. The signal is aborted when the filter is
   * closed.
   */
  readonly source: (options: { readonly signal: AbortSignal }) => AsyncIterable<Key> | Iterable<Key>;
  /** At most this share of absent keys passes. Default 0.01. */
  readonly falsePositiveRate?: number | undefined;
  /** Time from the end of one rebuild to the next. Default: only `rebuild` rebuilds. */
  readonly everyMs?: number | undefined;
  /** A filter whose last rebuild began longer ago than this is not used. Default: no limit. */
  readonly maxAgeMs?: number | undefined;
  /** Adds this long before a rebuild are put into it. Default 60,000. */
  readonly graceMs?: number | undefined;
  /** Room for more keys, as a share of those in the source. Default 0.25. */
  readonly headroom?: number | undefined;
  /** Called when a rebuild failed. Default: one line by `console.warn`. */
  readonly failed?: ((error: unknown) => void) | undefined;
  /** Milliseconds of a clock that does not go back. Default `performance.now`. */
  readonly now?: (() => number) | undefined;
}

export interface RebuiltFilterStatus {
  readonly state: RebuiltState;
  readonly rebuilds: number;
  readonly failures: number;
  /** Keys in the source at the last rebuild, and keys added since. */
  readonly keys: number;
  readonly added: number;
  /** Size of the bits in memory. */
  readonly bytes: number;
  /** Time since the last rebuild began; undefined before the first. */
  readonly ageMs: number | undefined;
}

const DEFAULT_RATE = 0.01;
const GRACE_MS = 60_000;
const HEADROOM = 0.25;
/** A small filter gets room for this many keys more. */
const LEAST_ROOM = 100;
/** Below this rate a blocked filter takes clearly more bits than a classic one. */
const LEAST_BLOCKED_RATE = 0.001;
/** Hashes that are added in one turn of the event loop; about 5 ms. */
const HASHES_PER_TURN = 65_536;
/** After a failure the next attempt comes after this share of the schedule, within these limits. */
const RETRY_SHARE = 0.1;
const LEAST_RETRY_MS = 1000;
const MOST_RETRY_MS = 60_000;

interface Built {
  readonly filter: BloomFilter | BlockedBloomFilter;
  readonly keys: number;
  readonly room: number;
  readonly beganAt: number;
}

export class RebuiltFilter implements GuardingFilter {
  readonly falsePositiveRate: number;
  readonly #options: RebuiltFilterOptions;
  readonly #scheme: HashScheme;
  readonly #now: () => number;
  readonly #closing = new AbortController();
  readonly #recent = new RecentAdds();
  #built: Built | undefined;
  #added = 0;
  #rebuilds = 0;
  #failures = 0;
  /** The rebuild that runs, and the one that begins after it. */
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The last rebuild failed, and the schedule tries again. Adds do not start a rebuild then. */
  #isRetrying = false;

  private constructor(options: RebuiltFilterOptions) {
    const { source, falsePositiveRate = DEFAULT_RATE, seed, key, hash } = options ?? {};
    if (typeof source !== 'function')
      throw new TypeError('Cannot build a filter: expected { source }, a function that returns keys');
    if (!(falsePositiveRate > 0 && falsePositiveRate < 1))
      throw new RangeError(
        `Cannot build a filter: expected a falsePositiveRate between 0 and 1, got ${falsePositiveRate}`,
      );
    checkTimes(options);
    this.falsePositiveRate = falsePositiveRate;
    this.#options = options;
    this.#scheme = hashScheme({
      ...(seed === undefined ? {} : { seed }),
      ...(key === undefined ? {} : { key }),
      ...(hash === undefined ? {} : { hash }),
    });
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Starts a filter at once. It answers "maybe" until its first rebuild is done, which goes on in
   * the background.
   */
  static start(options: RebuiltFilterOptions): RebuiltFilter {
    const filter = new RebuiltFilter(options);
    filter.rebuild().catch(() => {}); // `failed` was told
    return filter;
  }

  /** Starts a filter, and waits until it has been built once. Rejects if that fails. */
  static async build(
    options: RebuiltFilterOptions,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<RebuiltFilter> {
    const filter = new RebuiltFilter(options);
    try {
      await filter.rebuild({ signal });
    } catch (error) {
      filter.close();
      throw error;
    }
    return filter;
  }

  get state(): RebuiltState {
    if (this.#closing.signal.aborted) return 'closed';
    if (this.#built === undefined) return 'building';
    const { maxAgeMs = Number.POSITIVE_INFINITY } = this.#options;
    return this.#now() - this.#built.beganAt > maxAgeMs ? 'stale' : 'live';
  }

  /** False means: certainly not in the store. True if maybe, or if `state` is not 'live'. */
  has(key: Key): boolean {
    return this.#built === undefined || this.state !== 'live' || this.#built.filter.has(key);
  }

  /** Adds a key, at the latest when its row has been committed. */
  add(key: Key): void {
    const hash = hashKey(key, this.#scheme);
    const { graceMs = GRACE_MS, everyMs } = this.#options;
    const now = this.#now();
    if (this.#running === undefined) this.#recent.forgetBefore(now - graceMs);
    this.#recent.push(hash, now);
    if (this.#built?.filter.addHash(hash)) this.#added++;
    const isFull = this.#built !== undefined && this.#added > this.#built.room;
    const mayStart = this.#running === undefined && !this.#isRetrying && !this.#closing.signal.aborted;
    if (isFull && everyMs !== undefined && mayStart) this.rebuild().catch(() => {});
  }

  /**
   * Reads the source again and swaps the filter. A call while a rebuild runs waits for the next
   * rebuild, which begins after the call and so sees all rows from before it. Several callers may
   * share that rebuild, so a signal ends only the wait of its own caller.
   */
  rebuild({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    if (this.#closing.signal.aborted)
      return Promise.reject(new Error('Cannot rebuild a filter: it was closed'));
    if (this.#running === undefined) {
      this.#running = this.#rebuild(signal).finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.rebuild();
      });
    return abortable(this.#next, signal);
  }

  status(): RebuiltFilterStatus {
    return {
      state: this.state,
      rebuilds: this.#rebuilds,
      failures: this.#failures,
      keys: this.#built?.keys ?? 0,
      added: this.#added,
      bytes: this.#built === undefined ? 0 : this.#built.filter.bits / 8,
      ageMs: this.#built === undefined ? undefined : this.#now() - this.#built.beganAt,
    };
  }

  /** Ends the schedule and a rebuild that runs. From then on `has` answers "maybe". */
  close(): void {
    this.#closing.abort(new Error('Cannot rebuild a filter: it was closed'));
    clearTimeout(this.#timer);
  }

  async #rebuild(signal: AbortSignal | undefined): Promise<void> {
    clearTimeout(this.#timer);
    const { graceMs = GRACE_MS, everyMs, failed = warnOfFailure } = this.#options;
    const beganAt = this.#now();
    this.#recent.forgetBefore(beganAt - graceMs);
    const closing = this.#closing.signal;
    const ended = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    try {
      await this.#read(beganAt, ended);
      this.#rebuilds++;
      this.#isRetrying = false;
      this.#schedule(everyMs);
    } catch (error) {
      this.#failures++;
      this.#isRetrying = everyMs !== undefined || this.#built === undefined;
      this.#schedule(this.#isRetrying ? retryMs(everyMs) : undefined);
      if (!ended.aborted) failed(error);
      throw error;
    }
  }

  /** Reads the source into a new filter, and takes it into use. */
  async #read(beganAt: number, signal: AbortSignal): Promise<void> {
    const { source, headroom = HEADROOM } = this.#options;
    const hashes = new HashGatherer(this.#scheme);
    for await (const batch of keyBatches(source({ signal }), signal)) hashes.push(batch);
    signal.throwIfAborted();
    const room = Math.max(LEAST_ROOM, Math.ceil(headroom * hashes.count), this.#recent.size);
    const filter = this.#empty(hashes.count + room);
    for (const words of hashes.parts(HASHES_PER_TURN)) {
      filter.addMany({ scheme: this.#scheme, words, length: words.length / 2 });
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
    }
    // No await from here to the end of the swap. An add in between would be in neither filter.
    let added = 0;
    for (const hash of this.#recent.hashes()) if (filter.addHash(hash)) added++;
    this.#built = { filter, keys: hashes.count, room, beganAt };
    this.#added = added;
  }

  #empty(capacity: number): BloomFilter | BlockedBloomFilter {
    const { seed, key, hash } = this.#options;
    const options = {
      capacity,
      falsePositiveRate: this.falsePositiveRate,
      ...(seed === undefined ? {} : { seed }),
      ...(key === undefined ? {} : { key }),
      ...(hash === undefined ? {} : { hash }),
    };
    return this.falsePositiveRate >= LEAST_BLOCKED_RATE
      ? BlockedBloomFilter.forCapacity(options)
      : BloomFilter.forCapacity(options);
  }

  #schedule(ms: number | undefined): void {
    clearTimeout(this.#timer);
    if (ms === undefined || this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => this.rebuild().catch(() => {}), ms);
    this.#timer.unref(); // a schedule does not keep a process alive
  }
}

/** The pause after a failure. Without a schedule only the first build is tried again. */
function retryMs(everyMs = Number.POSITIVE_INFINITY): number {
  return Math.min(everyMs, MOST_RETRY_MS, Math.max(LEAST_RETRY_MS, RETRY_SHARE * everyMs));
}

/** Node runs a longer timer at once, with a warning. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function checkTimes({ everyMs, maxAgeMs, graceMs, headroom }: RebuiltFilterOptions): void {
  if (everyMs !== undefined && !(everyMs > 0 && everyMs <= LONGEST_TIMER_MS))
    throw new RangeError(
      `Cannot build a filter: expected everyMs above 0 and at most ${LONGEST_TIMER_MS}, got ${everyMs}`,
    );
  for (const [name, value] of Object.entries({ maxAgeMs, graceMs, headroom })) {
    if (value !== undefined && !(value >= 0))
      throw new RangeError(`Cannot build a filter: expected ${name} of at least 0, got ${value}`);
  }
}

function warnOfFailure(error: unknown): void {
  console.warn(`guard: a rebuild failed, and the filter in use stays: ${error}`);
}
