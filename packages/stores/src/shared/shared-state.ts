/**
 * The state that the parts of one member share: the filter, its place in the log, the adds that are
 * under way, and from these the state that callers see.
 */

import type { HashOptions } from 'bloomery';
import { covers, type LogView, parseAddId } from './decisions/add-id.ts';
import type { ReaderBelief } from './decisions/judge-server.ts';
import { MOST_HASHES } from './decisions/log-entry.ts';
import type { LogFollower } from './decisions/log-follower.ts';
import { isSettled } from './decisions/member-rules.ts';
import type { ServerFacts, SharedPlan } from './decisions/server-facts.ts';
import { SleepClock } from './decisions/sleep-clock.ts';
import { UnconfirmedAdds } from './decisions/unconfirmed-adds.ts';
import type { FilterKeys } from './redis/filter-keys.ts';
import type { RedisConnection } from './redis/redis-client.ts';
import type { SharedTiming } from './shared-options.ts';
import type { StagedFilter } from './staged-filter.ts';

/**
 * 'live': every add that was acknowledged longer than `maxAgeMs` ago is in the filter.
 * 'catching-up': the filter is being loaded.
 * 'unsure': adds may be missing, or the server has not been heard of for `maxAgeMs`.
 */
export type SharedFilterState = 'live' | 'catching-up' | 'unsure';

/** A promise for the id of a batch, with the number of its acknowledgement. */
export interface Acknowledged {
  readonly id: string;
  readonly order: number;
}

export interface BatchTicket {
  readonly promise: Promise<Acknowledged>;
  readonly resolve: (acknowledged: Acknowledged) => void;
  readonly reject: (error: Error) => void;
}

export interface StateSettings {
  readonly keys: FilterKeys;
  readonly plan: SharedPlan;
  readonly hash: HashOptions;
  readonly timing: SharedTiming;
  readonly maxAgeMs: number;
  readonly most: number;
  readonly open: () => Promise<RedisConnection>;
  /** Opens a connection whose calls cost little, for the reader. */
  readonly openLight: () => Promise<RedisConnection>;
  readonly onError: (error: Error) => void;
}

/** The log and the server that this member reads. */
export interface LoadedLog extends ReaderBelief {
  readonly base: number;
  readonly plan: SharedPlan;
}

export class SharedState {
  readonly settings: StateSettings;
  readonly adds: UnconfirmedAdds<BatchTicket>;
  filter: StagedFilter | null = null;
  follower: LogFollower | null = null;
  log: Omit<LoadedLog, 'position'> | null = null;
  isLoading = true;
  /** The server has no filter, or one without a log. */
  isLost = false;
  /** This member has keys that may be missing on the server. */
  owes = false;
  /** Entries are missing in the log itself, so the server has to be doubted. */
  hasHole = false;
  /** Hashes that were read from the log since the last snapshot. */
  hashesSinceSnapshot = 0;
  isClosed = false;
  resyncs = 0;
  snapshots = 0;
  lastError: Error | null = null;
  /** The look that first said that the server is settled; infinite while it is not. */
  #settledMs = Number.POSITIVE_INFINITY;
  #past: readonly string[] = [];
  #open = new Int32Array(2 * MOST_HASHES);
  #openLength = 0;
  #openTicket: BatchTicket | null = null;
  readonly #watchers = new Set<() => void>();
  readonly #clock = new SleepClock(
    () => performance.now(),
    () => Date.now(),
  );

  constructor(settings: StateSettings) {
    this.settings = settings;
    this.adds = new UnconfirmedAdds({ most: settings.most, keepMs: settings.timing.keepMs });
  }

  /** Takes a look of the reader's connection that was sent at `sentMs`. */
  looked(facts: ServerFacts, sentMs: number): void {
    this.#past = facts.meta?.past ?? [];
    if (!isSettled(facts)) this.#settledMs = Number.POSITIVE_INFINITY;
    else if (this.#settledMs === Number.POSITIVE_INFINITY) this.#settledMs = sentMs;
  }

  /** The time by which the age of the filter is told. */
  now(): number {
    return this.#clock.now();
  }

  /** The time since which adds may be missing. */
  ageMs(): number {
    return this.now() - (this.follower?.freshAsOfMs ?? Number.NEGATIVE_INFINITY);
  }

  get state(): SharedFilterState {
    const { follower } = this;
    if (this.isClosed) return 'unsure';
    if (follower === null || this.isLoading) return this.isLost ? 'unsure' : 'catching-up';
    if (this.isLost || this.owes || follower.freshAsOfMs < this.#settledMs) return 'unsure';
    return this.ageMs() <= this.settings.maxAgeMs ? 'live' : 'unsure';
  }

  get isLive(): boolean {
    return this.state === 'live';
  }

  covers(id: string): boolean {
    const { log, follower } = this;
    const parsed = parseAddId(id);
    if (log === null || follower === null) return false;
    const view: LogView = { ...log, past: this.#past, verified: follower.verified, isLive: this.isLive };
    return covers(view, parsed);
  }

  /** Puts one hash into the open batch. Returns the ticket of the batch. */
  collect(low: number, high: number): BatchTicket {
    this.#open[this.#openLength++] = low;
    this.#open[this.#openLength++] = high;
    this.#openTicket ??= newTicket();
    const ticket = this.#openTicket;
    if (this.#openLength === this.#open.length) this.closeBatch();
    return ticket;
  }

  /** Closes the open batch, so that it can be sent. */
  closeBatch(): void {
    if (this.#openTicket === null) return;
    this.adds.push({ words: this.#open.slice(0, this.#openLength), ticket: this.#openTicket });
    this.#openLength = 0;
    this.#openTicket = null;
  }

  get pendingHashes(): number {
    return this.adds.pendingHashes + this.#openLength / 2;
  }

  /** Calls `watcher` after each change until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Whether a caller waits for a change. */
  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  changed(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  failed(error: unknown): void {
    if (this.isClosed) return;
    this.lastError = error instanceof Error ? error : new Error(String(error));
    this.settings.onError(this.lastError);
    this.changed();
  }
}

export function newTicket(): BatchTicket {
  let resolve: BatchTicket['resolve'] = () => {};
  let reject: BatchTicket['reject'] = () => {};
  const promise = new Promise<Acknowledged>((take, refuse) => {
    resolve = take;
    reject = refuse;
  });
  // A caller that does not wait for an add must not end the process when the filter is closed.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
