/**
 * Uploads the filter of this member: as a snapshot, to restore a filter that the server lost, or as
 * a new epoch. The frames go to a key of this member first, which expires by itself; a script then
 * makes it visible in one step, if the lease still holds. A member that dies in between leaves
 * nothing behind but a key that expires.
 */

import { SHARED_VERSION } from './decisions/server-facts.ts';
import type { StageSize } from './decisions/stage-plan.ts';
import { uploadKey } from './redis/filter-keys.ts';
import type { RedisConnection } from './redis/redis-client.ts';
import { scriptKeys, textOf } from './redis/replies.ts';
import { CREATE, KEEP_LEASE, PUBLISH, REBUILD, runScript, type Script, TAKE_LEASE } from './redis/scripts.ts';
import type { SharedState } from './shared-state.ts';
import type { StagedFilter } from './staged-filter.ts';

const UPLOAD_MS = 60_000;

export class SnapshotUpload {
  readonly #state: SharedState;
  readonly #member: string;

  constructor(state: SharedState, member: string) {
    this.#state = state;
    this.#member = member;
  }

  /** Runs `work` under the lease. Returns false if another member has it. */
  async underLease(connection: RedisConnection, work: (token: string) => Promise<unknown>): Promise<boolean> {
    const { leaseMs } = this.#state.settings.timing;
    const token = textOf(await this.#run(connection, TAKE_LEASE, [this.#member, String(leaseMs)]));
    if (token === '') return false;
    try {
      await work(token);
      return true;
    } finally {
      await this.keepLease(connection, token, 0).catch(() => {});
    }
  }

  /** Prolongs the lease, or gives it back with 0. Returns false if it is lost. */
  async keepLease(connection: RedisConnection, token: string, ms: number): Promise<boolean> {
    return Number(await this.#run(connection, KEEP_LEASE, [token, String(ms)])) === 1;
  }

  /**
   * Makes this member's filter the snapshot. `kind` is 'm' if it has keys that are in no entry.
   * Returns whether that was done.
   */
  async publish(
    connection: RedisConnection,
    token: string,
    kind: 't' | 'm',
    keepFrom: string,
  ): Promise<boolean> {
    const { filter, follower, log } = this.#state;
    if (filter === null || follower === null || log === null) return false;
    // Place and frames belong together: everything up to the place is in the filter.
    const { verified, position, entries } = follower;
    if (verified !== position) return false;
    const upload = await this.#upload(connection, filter);
    const counted = kind === 'm' ? '' : String(entries);
    const words = [
      token,
      log.lineage,
      String(log.epoch),
      log.server,
      position,
      counted,
      upload,
      keepFrom,
      kind,
    ];
    return textOf(await this.#run(connection, PUBLISH, words)) === 'done';
  }

  /** Creates a filter that the server lost from this member's. False if another member did. */
  async restore(connection: RedisConnection, epoch: number): Promise<boolean> {
    const { filter, log } = this.#state;
    if (filter === null || log === null) return false;
    const upload = await this.#upload(connection, filter);
    return this.create(connection, {
      lineage: log.lineage,
      epoch,
      base: log.base,
      size: filter.size,
      scheme: filter.scheme.id,
      upload,
    });
  }

  async create(
    connection: RedisConnection,
    { lineage, epoch, base, size, scheme, upload }: NewFilter,
  ): Promise<boolean> {
    const numbers = [String(epoch), String(base), String(size.capacity), String(size.falsePositiveRate)];
    const words = [lineage, ...numbers, scheme, SHARED_VERSION, upload];
    return Number(await this.#run(connection, CREATE, words)) === 1;
  }

  /** Begins a new epoch with this filter, which contains the log up to `position`. */
  async rebuild(
    connection: RedisConnection,
    token: string,
    filter: StagedFilter,
    position: string,
  ): Promise<string> {
    const { log } = this.#state;
    if (log === null) return 'gone';
    const upload = await this.#upload(connection, filter);
    const { capacity, falsePositiveRate } = filter.size;
    const place = [token, log.lineage, String(log.epoch), log.server, position];
    const words = [...place, upload, String(capacity), String(falsePositiveRate)];
    return textOf(await this.#run(connection, REBUILD, words));
  }

  async #upload(connection: RedisConnection, filter: StagedFilter): Promise<string> {
    const key = uploadKey(this.#state.settings.keys, this.#member);
    const { leaseMs } = this.#state.settings.timing;
    const frames = filter.encode();
    await connection.call(['DEL', key]);
    for (const [stage, frame] of frames.entries()) {
      // Both are sent at once, so that a key that is left behind expires.
      await Promise.all([
        connection.call(['HSET', key, String(stage), frame], UPLOAD_MS),
        connection.call(['PEXPIRE', key, String(leaseMs)], UPLOAD_MS),
      ]);
    }
    return key;
  }

  #run(connection: RedisConnection, script: Script, words: readonly string[]): Promise<unknown> {
    const { keys } = this.#state.settings;
    return runScript(connection, script, scriptKeys(keys), [keys.prefix, ...words]);
  }
}

interface NewFilter {
  readonly lineage: string;
  readonly epoch: number;
  readonly base: number;
  readonly size: StageSize;
  readonly scheme: string;
  readonly upload: string;
}
