/**
 * One Bloom filter for all processes of a fleet, on plain Redis 7.
 *
 * The truth is a log of 64-bit hashes in a Redis stream. Every process holds the filter in its own
 * memory and asks it there, without the network. An add goes into this process's filter at once. It
 * goes to the log in a batch with others, and all processes read the log. Snapshots keep the log
 * short and let new processes begin quickly.
 *
 * What it promises. `has` answers false only if the key was certainly not added, with one
 * exception: an add that was acknowledged less than `maxAgeMs` ago may still be under way to this
 * process. To exclude that, name the add: `has(key, { after: id })`, or wait for it: `waitFor(id)`.
 * Whenever a process cannot be sure (the server was replaced, lost data, is away), it answers
 * "maybe" to everything, and `state` says so.
 *
 * What it does not promise. Redis can lose adds that it acknowledged. The process that added them
 * sends them again; if it dies first, and no other process had read them, they are lost. Use
 * `durability: 'wait'` where that matters. Two servers that both believe to be the master (a split
 * network) are not detected; `min-replicas-to-write` of Redis prevents it.
 */

import { type AbortSignalLike, hashKey, hashKeys, type Key, type KeyBatch } from 'bloomery';
import { MOST_HASHES } from './decisions/log-entry.ts';
import type { LogReader } from './log-reader.ts';
import type { LogWriter } from './log-writer.ts';
import { type RebuildOptions, rebuildShared } from './rebuild-shared.ts';
import { SharedFilterError } from './shared-filter-error.ts';
import {
  type Acknowledged,
  type BatchTicket,
  newTicket,
  type SharedFilterState,
  type SharedState,
} from './shared-state.ts';
import type { StagedFilter } from './staged-filter.ts';

export interface SharedFilterStats {
  readonly state: SharedFilterState;
  /** Adds that were acknowledged longer ago than this are in the filter. */
  readonly ageMs: number;
  readonly epoch: number;
  readonly capacity: number;
  readonly falsePositiveRate: number;
  readonly stages: number;
  /** Bytes of the filter in this process. */
  readonly bytes: number;
  /** Keys in the filter, by counts and estimates. */
  readonly estimatedSize: number;
  /** Entries of the log that were ever written, as far as this process has read. */
  readonly entries: number;
  /** Adds of this process that Redis has not acknowledged. */
  readonly pendingAdds: number;
  /** Adds of this process that Redis has acknowledged and may still lose. */
  readonly unconfirmedAdds: number;
  /** Adds that were sent again to another server. */
  readonly resentAdds: number;
  /** Times that this process had to load everything again because an entry was missing. */
  readonly resyncs: number;
  /** Snapshots that this process made. */
  readonly snapshots: number;
  readonly lastError: Error | null;
}

export interface WaitOptions {
  readonly signal?: AbortSignalLike;
  /** Default: no limit. */
  readonly timeoutMs?: number;
}

export class SharedFilter implements AsyncDisposable {
  readonly name: string;
  readonly #state: SharedState;
  readonly #reader: LogReader;
  readonly #writer: LogWriter;
  readonly #maxPending: number;

  /** @internal */
  constructor(name: string, parts: SharedParts) {
    this.name = name;
    this.#state = parts.state;
    this.#reader = parts.reader;
    this.#writer = parts.writer;
    this.#maxPending = parts.maxPending;
  }

  get state(): SharedFilterState {
    return this.#state.state;
  }

  /**
   * True if the key may have been added, false if it certainly was not. An add of another process
   * that was acknowledged less than `maxAgeMs` ago may be missed, unless `after` names it: then the
   * answer is true until this process has read it.
   */
  has(key: Key, { after }: { readonly after?: string } = {}): boolean {
    if (this.#state.state !== 'live') return true;
    if (after !== undefined && !this.#covers(after)) return true;
    return this.#filter.has(key);
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. `after` is that of `has`. */
  hasMany(keys: KeyBatch, { after }: { readonly after?: string } = {}): Uint8Array {
    const answers = this.#filter.hasMany(keys);
    const isSure = this.#state.state === 'live' && (after === undefined || this.#covers(after));
    return isSure ? answers : answers.fill(1);
  }

  /**
   * Adds a key. This process knows it at once. Resolves with the id of the add when Redis has it,
   * or with `durability: 'wait'` when the replicas have it.
   */
  async add(key: Key): Promise<string> {
    this.#checkRoom(1);
    const { low, high } = hashKey(key, this.#filter.scheme);
    this.#one[0] = low;
    this.#one[1] = high;
    this.#filter.addWords(this.#one);
    const ticket = this.#state.collect(low, high);
    this.#writer.soon();
    return (await ticket.promise).id;
  }

  /** Adds many keys, faster than one by one. Resolves with the id of the last add. */
  async addMany(keys: KeyBatch): Promise<string> {
    const { words, length } = hashKeys(keys, this.#filter.scheme);
    this.#checkRoom(length);
    if (length === 0) throw new RangeError('Cannot add keys: expected at least one, got none');
    this.#filter.addWords(words);
    this.#state.closeBatch();
    const tickets: BatchTicket[] = [];
    for (let from = 0; from < words.length; from += 2 * MOST_HASHES) {
      const ticket = newTicket();
      this.#state.adds.push({ words: words.slice(from, from + 2 * MOST_HASHES), ticket });
      tickets.push(ticket);
    }
    this.#writer.flush();
    const all = await Promise.all(tickets.map(({ promise }) => promise));
    return all.reduce((last, one) => (one.order > last.order ? one : last), all[0] as Acknowledged).id;
  }

  /** Resolves when the add with this id is in the filter of this process. */
  async waitFor(id: string, options: WaitOptions = {}): Promise<void> {
    if (this.#state.covers(id)) return;
    this.#reader.look();
    await this.#until(() => this.#state.covers(id), 'the add', options);
  }

  /** Resolves when the filter is live. */
  async ready(options: WaitOptions = {}): Promise<void> {
    await this.#until(() => this.#state.isLive, 'a live filter', options);
  }

  /**
   * Replaces the filter by one of the keys of `source`, for all processes. Keys that are added
   * meanwhile are kept. This is how keys are deleted: a Bloom filter forgets only by being rebuilt.
   */
  async rebuild(source: AsyncIterable<Key> | Iterable<Key>, options: RebuildOptions = {}): Promise<void> {
    await this.ready({ ...(options.signal === undefined ? {} : { signal: options.signal }) });
    await rebuildShared(this.#state, source, options);
    this.#reader.look();
    this.#writer.look();
  }

  /** The frames of the filter's stages, oldest first, each a `BlockedBloomFilter`. */
  frames(): Uint8Array[] {
    return this.#filter.encode();
  }

  stats(): SharedFilterStats {
    const { adds, log, follower, resyncs, snapshots, lastError, state } = this.#state;
    return {
      state,
      ageMs: this.#state.ageMs(),
      epoch: log?.epoch ?? 0,
      ...this.#filter.size,
      stages: this.#filter.stages,
      bytes: this.#filter.byteLength,
      estimatedSize: this.#filter.count,
      entries: follower?.entries ?? 0,
      pendingAdds: this.#state.pendingHashes,
      unconfirmedAdds: adds.unconfirmedHashes,
      resentAdds: adds.resentHashes,
      resyncs,
      snapshots,
      lastError,
    };
  }

  /**
   * Sends what waits, for at most `timeoutMs`, and closes the connections. Adds that are not
   * acknowledged by then reject.
   */
  async close({ timeoutMs = 5000 }: { readonly timeoutMs?: number } = {}): Promise<void> {
    if (this.#state.isClosed) return;
    this.#writer.flush();
    await this.#until(() => this.#state.pendingHashes === 0, 'the last adds', { timeoutMs }).catch(() => {});
    this.#state.isClosed = true;
    const error = closedError();
    for (const ticket of this.#state.adds.pendingTickets()) ticket.reject(error);
    this.#reader.close();
    await this.#writer.close();
    this.#state.changed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  readonly #one = new Int32Array(2);

  /** The filter of this moment: loading replaces it. */
  get #filter(): StagedFilter {
    return this.#state.filter as StagedFilter;
  }

  /** Whether this process has the add. If not, it reads on without its usual rest. */
  #covers(id: string): boolean {
    if (this.#state.covers(id)) return true;
    this.#reader.hurry();
    return false;
  }

  #checkRoom(hashes: number): void {
    if (this.#state.isClosed) throw closedError();
    const pending = this.#state.pendingHashes;
    if (pending + hashes <= this.#maxPending) return;
    throw new SharedFilterError(
      'backlog',
      `Cannot add ${hashes} keys: expected at most ${this.#maxPending} that wait for Redis, got ${pending} already`,
    );
  }

  async #until(isDone: () => boolean, what: string, { signal, timeoutMs }: WaitOptions): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let unwatch = () => {};
    let abort = () => {};
    try {
      await new Promise<void>((resolve, reject) => {
        const check = () => {
          if (isDone()) resolve();
          else if (this.#state.isClosed) reject(closedError());
        };
        abort = () => reject(signal?.reason);
        signal?.addEventListener('abort', abort);
        if (timeoutMs !== undefined) {
          timer = setTimeout(() => {
            const message = `Cannot wait any longer: expected ${what} within ${timeoutMs} ms`;
            reject(new SharedFilterError('timeout', message));
          }, timeoutMs);
        }
        unwatch = this.#state.watch(check);
        if (signal?.aborted) abort();
        check();
      });
    } finally {
      clearTimeout(timer);
      unwatch();
      signal?.removeEventListener('abort', abort);
    }
  }
}

/** @internal */
export interface SharedParts {
  readonly state: SharedState;
  readonly reader: LogReader;
  readonly writer: LogWriter;
  readonly maxPending: number;
}

function closedError(): SharedFilterError {
  return new SharedFilterError(
    'closed',
    'Cannot use the shared filter: expected an open one, got one that was closed',
  );
}
