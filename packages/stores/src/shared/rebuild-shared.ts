/**
 * Rebuilds a shared filter under a new epoch, without keys that its owner has deleted. The source
 * is read while the fleet goes on adding. Those adds stand in the log after the place at which the
 * rebuild began, so they are read into the new filter as well, and the last of them are copied by
 * the script that begins the epoch. The lease is held all the time: no snapshot trims the log
 * meanwhile.
 */

import { type AbortSignalLike, hashKeys, type Key } from 'bloomery';
import { readEntry } from './decisions/log-entry.ts';
import { LogFollower } from './decisions/log-follower.ts';
import { Pause } from './pause.ts';
import { logKey } from './redis/filter-keys.ts';
import type { RedisConnection } from './redis/redis-client.ts';
import { entriesOf, lookAtServer } from './redis/replies.ts';
import { SharedFilterError } from './shared-filter-error.ts';
import type { SharedState } from './shared-state.ts';
import { SnapshotUpload } from './snapshot-upload.ts';
import { StagedFilter } from './staged-filter.ts';

export interface RebuildOptions {
  /** The capacity of the new filter. Default: that of the old one. */
  readonly capacity?: number;
  readonly falsePositiveRate?: number;
  readonly signal?: AbortSignalLike;
}

const CHUNK_KEYS = 1024;
const MOST_ENTRIES = 64;
const ATTEMPTS = 20;
/** Pause before the lease of another member is asked for again. */
const LEASE_PAUSE_MS = 50;

export async function rebuildShared(
  state: SharedState,
  source: AsyncIterable<Key> | Iterable<Key>,
  options: RebuildOptions,
): Promise<void> {
  const connection = await state.settings.open();
  try {
    const upload = new SnapshotUpload(state, `rebuild-${process.pid}-${performance.now()}`);
    const { leaseMs } = state.settings.timing;
    const endMs = performance.now() + 2 * leaseMs;
    const rebuild = (token: string) => new Rebuild(state, connection, upload, token).run(source, options);
    while (!(await upload.underLease(connection, rebuild))) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (performance.now() > endMs)
        throw new SharedFilterError(
          'unavailable',
          `Cannot rebuild: expected the lease within ${2 * leaseMs} ms`,
        );
      await new Pause().wait(LEASE_PAUSE_MS);
    }
  } finally {
    connection.close();
  }
}

class Rebuild {
  readonly #state: SharedState;
  readonly #connection: RedisConnection;
  readonly #upload: SnapshotUpload;
  readonly #token: string;
  #renewedMs = performance.now();

  constructor(state: SharedState, connection: RedisConnection, upload: SnapshotUpload, token: string) {
    this.#state = state;
    this.#connection = connection;
    this.#upload = upload;
    this.#token = token;
  }

  async run(source: AsyncIterable<Key> | Iterable<Key>, { signal, ...size }: RebuildOptions): Promise<void> {
    const { settings } = this.#state;
    const { meta, log } = await lookAtServer(this.#connection, settings.keys);
    if (meta === null || log === null)
      throw new SharedFilterError('unavailable', 'Cannot rebuild: expected a filter on the server, got none');
    const filter = new StagedFilter({ ...meta.plan, ...size }, settings.hash);
    const follower = new LogFollower({ position: log.last, entries: log.entries });
    let chunk: Key[] = [];
    for await (const key of source) {
      if (signal?.aborted) throw signal.reason;
      if (chunk.push(key) < CHUNK_KEYS) continue;
      filter.addWords(hashKeys(chunk, filter.scheme).words);
      chunk = [];
      await this.#keepLease();
    }
    filter.addWords(hashKeys(chunk, filter.scheme).words);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      await this.#readOn(filter, follower, logKey(settings.keys, meta.lineage, meta.epoch));
      const answer = await this.#upload.rebuild(this.#connection, this.#token, filter, follower.position);
      if (answer === 'done') return;
      if (answer !== 'behind')
        throw new SharedFilterError(
          'unavailable',
          `Cannot rebuild: the server changed meanwhile (${answer}); try again`,
        );
    }
    throw new SharedFilterError(
      'unavailable',
      `Cannot rebuild: expected the end of the log in ${ATTEMPTS} attempts`,
    );
  }

  /** Reads the adds since the rebuild began. */
  async #readOn(filter: StagedFilter, follower: LogFollower, key: string): Promise<void> {
    for (;;) {
      const words = ['XREAD', 'COUNT', String(MOST_ENTRIES), 'STREAMS', key, follower.position];
      const entries = entriesOf(await this.#connection.call(words));
      for (const { id, fields } of entries) {
        const work = follower.take(id, readEntry(fields));
        if (work.work === 'reload')
          throw new SharedFilterError(
            'unavailable',
            `Cannot rebuild: got ${work.problem} in the log; try again`,
          );
        if (work.work === 'add') filter.addWords(work.words);
      }
      if (entries.length < MOST_ENTRIES) return;
      await this.#keepLease();
    }
  }

  async #keepLease(): Promise<void> {
    const { leaseMs } = this.#state.settings.timing;
    if (performance.now() - this.#renewedMs < leaseMs / 3) return;
    this.#renewedMs = performance.now();
    if (await this.#upload.keepLease(this.#connection, this.#token, leaseMs)) return;
    throw new SharedFilterError(
      'unavailable',
      'Cannot rebuild: the lease was lost, because the source was slow; try again',
    );
  }
}
