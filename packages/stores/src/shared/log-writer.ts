/**
 * Sends the adds of this member to the log, on a connection of its own, and does the other work of
 * a member there: beats, settling, snapshots, restoring. Decisions are in
 * decisions/unconfirmed-adds.ts and decisions/member-rules.ts.
 *
 * XADD has NOMKSTREAM: if the log is gone (the filter was rebuilt, or the server lost it), the
 * answer is null instead of a new stream that no member reads. The batch is then sent to the log of
 * the next look.
 */

import { formatAddId } from './decisions/add-id.ts';
import { packHashes } from './decisions/log-entry.ts';
import {
  goneMembers,
  isDoubtNew,
  isSnapshotDue,
  maySettle,
  reconnectPauseMs,
} from './decisions/member-rules.ts';
import type { FilterMeta, ServerFacts } from './decisions/server-facts.ts';
import type { AddBatch, LogPlace } from './decisions/unconfirmed-adds.ts';
import { Pause } from './pause.ts';
import { logKey } from './redis/filter-keys.ts';
import type { RedisConnection } from './redis/redis-client.ts';
import { lookAtServer, scriptKeys, textOf } from './redis/replies.ts';
import { DOUBT, runScript, SETTLE } from './redis/scripts.ts';
import { SharedFilterError } from './shared-filter-error.ts';
import type { BatchTicket, SharedState } from './shared-state.ts';
import { SnapshotUpload } from './snapshot-upload.ts';

/** Entries that are under way at once: half a megabyte. */
const MOST_UNDER_WAY = 64;
/** Time for one WAIT, which is repeated until the replicas have the adds. */
const WAIT_MS = 1000;
/** Time between two looks while something is wrong. */
const DOUBT_MS = 100;
/**
 * The pause between two looks of a writer that has nothing to confirm, in multiples of `lookMs`.
 */
const IDLE_LOOKS = 4;

export interface WriterSettings {
  readonly member: string;
  /** The replicas that an add waits for; 0 for none. */
  readonly replicas: number;
  readonly restores: boolean;
}

export class LogWriter {
  readonly #state: SharedState;
  readonly #settings: WriterSettings;
  readonly #upload: SnapshotUpload;
  readonly #pause = new Pause();
  #connection: RedisConnection | null = null;
  #place: LogPlace | null = null;
  #underWay = 0;
  #isWaiting = false;
  #isLeaving = false;
  #orders = 0;
  #flushTimer: NodeJS.Timeout | null = null;
  #flushedMs = Number.NEGATIVE_INFINITY;
  #sessionError: Error | null = null;
  #beatMs = Number.NEGATIVE_INFINITY;

  constructor(state: SharedState, settings: WriterSettings) {
    this.#state = state;
    this.#settings = settings;
    this.#upload = new SnapshotUpload(state, settings.member);
  }

  async run(): Promise<void> {
    for (let attempt = 0; !this.#state.isClosed; attempt++) {
      try {
        const connection = await this.#state.settings.open();
        this.#connection = connection;
        this.#sessionError = null;
        await this.#session(connection, () => {
          attempt = 0;
        });
      } catch (error) {
        this.#state.failed(error);
      }
      // `close` takes the member off the list first, and then ends the connection itself.
      if (this.#isLeaving) return;
      this.#disconnect();
      if (!this.#state.isClosed) await this.#pause.wait(reconnectPauseMs(attempt, Math.random()));
    }
  }

  /**
   * Sends the open batch when `flushMs` have passed since the last one. An add after a longer time
   * without adds goes in the next turn of the event loop.
   */
  soon(): void {
    if (this.#flushTimer !== null) return;
    const restMs = this.#flushedMs + this.#state.settings.timing.flushMs - performance.now();
    this.#flushTimer = setTimeout(() => this.flush(), Math.max(0, restMs));
  }

  /** Sends everything that waits. */
  flush(): void {
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer);
    this.#flushTimer = null;
    this.#flushedMs = performance.now();
    this.#state.closeBatch();
    this.#pump();
  }

  /** Makes the next look come at once. */
  look(): void {
    this.#pause.poke();
  }

  /** Tells the others that this member is gone, and closes. */
  async close(): Promise<void> {
    const { members } = this.#state.settings.keys;
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer);
    this.#isLeaving = true;
    this.#pause.poke();
    await this.#connection?.call(['HDEL', members, this.#settings.member], 2000).catch(() => {});
    this.#isLeaving = false;
    this.#disconnect();
  }

  #disconnect(): void {
    this.#connection?.close();
    this.#connection = null;
    this.#place = null;
    this.#underWay = 0;
    this.#isWaiting = false;
    this.#state.adds.disconnect();
  }

  async #session(connection: RedisConnection, succeeded: () => void): Promise<void> {
    const state = this.#state;
    const { timing } = state.settings;
    while (!state.isClosed) {
      if (this.#sessionError !== null) throw this.#sessionError;
      const sentMs = performance.now();
      const facts = await lookAtServer(connection, state.settings.keys, this.#settings.member);
      if (!facts.isMaster) {
        throw new SharedFilterError('unavailable', 'Cannot add keys: expected a master, got a replica');
      }
      let isCalm = false;
      if (facts.meta === null || facts.log === null) await this.#restore(connection, facts);
      else if (facts.meta.plan.scheme === state.settings.plan.scheme) {
        this.#arrive(facts, facts.meta);
        state.adds.observe({ ...facts, sentMs });
        this.#pump();
        isCalm = await this.#serve(connection, facts, facts.meta);
        succeeded();
      }
      state.changed();
      await this.#pause.wait(isCalm ? this.#calmMs() : Math.min(DOUBT_MS, timing.lookMs));
    }
  }

  /**
   * Time until the next look while all is well. A member that has nothing to confirm looks less
   * often: its reader looks as well, and says when the server is not settled.
   */
  #calmMs(): number {
    const { adds, settings } = this.#state;
    return (adds.unconfirmedHashes > 0 ? 1 : IDLE_LOOKS) * settings.timing.lookMs;
  }

  /** Takes the log of a look as the one to write to. */
  #arrive({ server }: ServerFacts, { lineage, epoch, base }: FilterMeta): void {
    const place = this.#place;
    if (place !== null && place.server === server && place.lineage === lineage && place.epoch === epoch)
      return;
    if (place !== null && place.server !== server)
      throw new SharedFilterError(
        'unavailable',
        'Cannot add keys: the server was replaced during a connection',
      );
    this.#place = { lineage, epoch, base, server };
    this.#state.adds.connect(this.#place);
  }

  /** The work of a member after a look. Returns false if the next look should come soon. */
  async #serve(connection: RedisConnection, facts: ServerFacts, meta: FilterMeta): Promise<boolean> {
    const state = this.#state;
    const { timing } = state.settings;
    if (state.hasHole || isDoubtNew(facts)) {
      await this.#script(connection, DOUBT, [state.hasHole ? '1' : '0']);
      state.hasHole = false;
      return false;
    }
    const isSameLog = this.#isReaderHere();
    if (state.owes && isSameLog) {
      await this.#upload.underLease(connection, async (token) => {
        if (await this.#upload.publish(connection, token, 'm', meta.snapshotAt)) state.owes = false;
      });
    }
    await this.#sendBeat(connection, facts, isSameLog);
    if (maySettle(facts, timing)) {
      await this.#script(connection, SETTLE, [meta.lineage, facts.server]);
      const gone = goneMembers(facts, timing);
      if (gone.length > 0) await connection.call(['HDEL', state.settings.keys.members, ...gone]);
      return false;
    }
    if (meta.settled !== facts.server || state.owes || state.adds.isResending) return false;
    const cost = {
      hashes: state.hashesSinceSnapshot,
      filterBytes: state.filter?.byteLength ?? 0,
      mostEntries: timing.snapshotEntries,
    };
    if (isSameLog && isSnapshotDue(facts, cost)) {
      await this.#upload.underLease(connection, async (token) => {
        if (await this.#upload.publish(connection, token, 't', meta.snapshotAt)) state.snapshots++;
      });
      // Whether this member made it or another one: the count begins again.
      state.hashesSinceSnapshot = 0;
    }
    return true;
  }

  #isReaderHere(): boolean {
    const { log, isLoading } = this.#state;
    const place = this.#place;
    if (log === null || place === null || isLoading) return false;
    return log.server === place.server && log.lineage === place.lineage && log.epoch === place.epoch;
  }

  async #sendBeat(connection: RedisConnection, facts: ServerFacts, isSameLog: boolean): Promise<void> {
    const { owes, adds, settings } = this.#state;
    const confirmed = isSameLog && !owes && !adds.isResending ? facts.server : '';
    const nowMs = performance.now();
    // The server's own record counts: a beat that was sent may have got lost with its connection,
    // or with a failover.
    const known = facts.members.find(({ id }) => id === this.#settings.member);
    const isDue = nowMs - this.#beatMs >= settings.timing.memberMs / 3;
    if (known?.confirmed === confirmed && !isDue) return;
    if (this.#state.isClosed) return; // `close` has taken the member off the list
    const value = `${confirmed || '-'} ${facts.timeMs}`;
    await connection.call(['HSET', settings.keys.members, this.#settings.member, value]);
    this.#beatMs = nowMs;
    // A replica that takes over should know this member.
    if (known === undefined && facts.replicaOffsets.length > 0)
      await connection.call(['WAIT', '1', '500'], 2000);
  }

  async #restore(connection: RedisConnection, { meta }: ServerFacts): Promise<void> {
    const { log } = this.#state;
    this.#place = null;
    if (!this.#settings.restores || log === null || this.#state.isLoading) return;
    const epoch = Math.max(log.epoch, meta?.lineage === log.lineage ? meta.epoch : 0) + 1;
    this.#state.closeBatch();
    await this.#upload.restore(connection, epoch);
  }

  #script(connection: RedisConnection, script: typeof DOUBT, words: readonly string[]): Promise<unknown> {
    const { keys } = this.#state.settings;
    return runScript(connection, script, scriptKeys(keys), [keys.prefix, ...words]);
  }

  #pump(): void {
    const connection = this.#connection;
    const place = this.#place;
    if (connection === null || place === null || this.#sessionError !== null) return;
    if (this.#settings.replicas > 0) {
      if (!this.#isWaiting) void this.#sendAndWait(connection, place);
      return;
    }
    while (this.#underWay < MOST_UNDER_WAY) {
      const batch = this.#state.adds.next();
      if (batch === null) return;
      this.#underWay++;
      void this.#send(connection, place, batch);
    }
  }

  async #send(connection: RedisConnection, place: LogPlace, batch: AddBatch<BatchTicket>): Promise<void> {
    try {
      const id = await this.#append(connection, place, batch);
      if (this.#connection !== connection) return;
      this.#underWay--;
      if (id !== null) this.#acknowledge(place, batch, id);
      else this.#logIsGone(batch);
      this.#pump();
    } catch (error) {
      this.#broke(connection, error);
    }
  }

  /** Sends as many batches as may be under way, and then waits for the replicas. */
  async #sendAndWait(connection: RedisConnection, place: LogPlace): Promise<void> {
    const { adds } = this.#state;
    this.#isWaiting = true;
    try {
      for (;;) {
        const batches: AddBatch<BatchTicket>[] = [];
        for (let next = adds.next(); next !== null; next = adds.next()) {
          batches.push(next);
          if (batches.length === MOST_UNDER_WAY) break;
        }
        if (batches.length === 0) break;
        const ids = await Promise.all(batches.map((batch) => this.#append(connection, place, batch)));
        const { replicas } = this.#settings;
        while (Number(await connection.call(['WAIT', String(replicas), String(WAIT_MS)])) < replicas);
        if (this.#connection !== connection) return;
        for (const [i, id] of ids.entries()) {
          if (id !== null) this.#acknowledge(place, batches[i], id);
          else this.#logIsGone(batches[i]);
        }
        if (this.#place !== place) break;
      }
      this.#isWaiting = false;
    } catch (error) {
      this.#broke(connection, error);
    }
  }

  async #append(
    connection: RedisConnection,
    { lineage, epoch }: LogPlace,
    { words }: AddBatch<BatchTicket>,
  ): Promise<string | null> {
    const key = logKey(this.#state.settings.keys, lineage, epoch);
    const id = await connection.call(['XADD', key, 'NOMKSTREAM', '*', 'h', packHashes(words)]);
    return id === null ? null : textOf(id);
  }

  #acknowledge(place: LogPlace, batch: AddBatch<BatchTicket>, id: string): void {
    if (!this.#state.adds.acknowledge(batch, place, performance.now())) return;
    const { lineage, epoch, server } = place;
    batch.ticket.resolve({ id: formatAddId({ lineage, epoch, server, place: id }), order: this.#orders++ });
  }

  #logIsGone(batch: AddBatch<BatchTicket>): void {
    this.#state.adds.refuse(batch);
    this.#place = null;
    this.#pause.poke();
  }

  #broke(connection: RedisConnection, error: unknown): void {
    if (this.#connection !== connection) return;
    this.#sessionError = error instanceof Error ? error : new Error(String(error));
    this.#pause.poke();
  }
}
