/**
 * Reads the log into the filter of this member, on a connection of its own. The decisions are in
 * decisions/log-follower.ts (is an entry missing?) and decisions/judge-server.ts (is this still the
 * log that I know?); this file asks, waits and applies.
 *
 * XREAD blocks until an entry comes, at most until the next look at the server is due. Looks and
 * reads take turns on one connection, so a read that follows a look goes at least to the end that
 * the look saw.
 */

import { BEFORE_ALL, timeOf } from './decisions/add-id.ts';
import { judgeServer, type ServerVerdict } from './decisions/judge-server.ts';
import { readEntry } from './decisions/log-entry.ts';
import { type EntryWork, LogFollower } from './decisions/log-follower.ts';
import { isDoubtNew, isSettled, reconnectPauseMs } from './decisions/member-rules.ts';
import type { FilterMeta, ServerFacts } from './decisions/server-facts.ts';
import { Pause } from './pause.ts';
import { logKey, snapshotKey } from './redis/filter-keys.ts';
import type { RedisConnection } from './redis/redis-client.ts';
import { entriesOf, lookAtServer, type RawEntry, textOf } from './redis/replies.ts';
import { SharedFilterError } from './shared-filter-error.ts';
import type { SharedState } from './shared-state.ts';
import { StagedFilter } from './staged-filter.ts';

/** Entries in one reply: at most half a megabyte of hashes. */
const MOST_ENTRIES = 64;
/** Time beyond the block of XREAD after which the connection counts as dead. */
const GRACE_MS = 5000;
const LOAD_MS = 60_000;
/** Pause before the server is looked at again while it has no filter. */
const LOST_MS = 50;

interface Look {
  readonly facts: ServerFacts;
  readonly sentMs: number;
}

export class LogReader {
  readonly #state: SharedState;
  readonly #alarm: () => void;
  readonly #pause = new Pause();
  /** The rest between two reads, which is not the pause before a new connection. */
  readonly #rest = new Pause();
  #connection: RedisConnection | null = null;
  #wantsLook = false;
  /** The newest entry of the last reply that had any, by the clock of the server. */
  #lastEntryMs = 0;

  /**
   * `alarm` is called after a look at a server that is not settled, and after each load: the writer
   * then has to confirm, or to send what is missing.
   */
  constructor(state: SharedState, alarm: () => void) {
    this.#state = state;
    this.#alarm = alarm;
  }

  /** Reads until the member is closed. */
  async run(): Promise<void> {
    for (let attempt = 0; !this.#state.isClosed; attempt++) {
      try {
        const connection = await this.#state.settings.openLight();
        this.#connection = connection;
        await this.#session(connection, () => {
          attempt = 0;
        });
      } catch (error) {
        this.#state.failed(error);
      }
      this.#connection?.close();
      this.#connection = null;
      if (!this.#state.isClosed) await this.#pause.wait(reconnectPauseMs(attempt, Math.random()));
    }
  }

  /** Makes the next look come at once. */
  look(): void {
    this.#wantsLook = true;
    this.hurry();
  }

  /** Ends the rest of this reader, because a caller waits for an entry. */
  hurry(): void {
    this.#rest.poke();
  }

  close(): void {
    this.#pause.poke();
    this.#rest.poke();
    this.#connection?.close();
  }

  async #session(connection: RedisConnection, succeeded: () => void): Promise<void> {
    const { settings } = this.#state;
    let lookedMs = Number.NEGATIVE_INFINITY;
    while (!this.#state.isClosed) {
      if (this.#wantsLook || this.#state.now() - lookedMs >= settings.timing.lookMs) {
        this.#wantsLook = false;
        lookedMs = this.#state.now();
        if (!(await this.#follow(connection))) {
          lookedMs = Number.NEGATIVE_INFINITY;
          await this.#pause.wait(LOST_MS);
          continue;
        }
        succeeded();
      }
      const block = Math.max(1, Math.ceil(lookedMs + settings.timing.lookMs - this.#state.now()));
      const entries = await this.#read(connection, block);
      const work = await this.#apply(connection, entries);
      this.#state.changed();
      if (work.work === 'reload') await this.#reload(connection, work.problem);
      const restMs = Math.min(this.#restMs(entries), lookedMs + settings.timing.lookMs - this.#state.now());
      if (restMs > 0) await this.#rest.wait(restMs);
    }
  }

  /**
   * The time to wait before the next read, so that the newest entries of two replies are at least
   * `readPauseMs` apart. A log with fewer entries than that needs no rest: the reader asks again at
   * once, the server answers when there is an entry, and the process wakes up once for each.
   */
  #restMs(entries: readonly RawEntry[]): number {
    const newest = entries.at(-1);
    if (newest === undefined) return 0;
    const atMs = timeOf(newest.id);
    // The clock of a new server may be behind that of the old one.
    const sinceMs = Math.max(0, atMs - this.#lastEntryMs);
    this.#lastEntryMs = atMs;
    // A reply that was cut off is followed by the next one at once.
    return entries.length === MOST_ENTRIES || this.#state.isWatched
      ? 0
      : this.#state.settings.timing.readPauseMs - sinceMs;
  }

  /** Looks at the server and does what it asks for. Returns false if there is nothing to read. */
  async #follow(connection: RedisConnection): Promise<boolean> {
    const state = this.#state;
    const look = await this.#look(connection);
    const { facts, sentMs } = look;
    const verdict = this.#judge(facts);
    state.looked(facts, sentMs);
    state.isLost = verdict === 'restore';
    if (!isSettled(facts)) this.#alarm();
    if (facts.meta === null || facts.log === null) {
      state.changed();
      return false;
    }
    if (verdict === 'follow') {
      const work = (state.follower as LogFollower).check(facts.log, sentMs);
      if (work.work === 'reload') await this.#reload(connection, work.problem);
    } else {
      await this.#load(connection, look, verdict);
    }
    state.changed();
    return true;
  }

  #judge(facts: ServerFacts): ServerVerdict {
    const { log, follower } = this.#state;
    if (log === null) return judgeServer(null, facts);
    const verdict = judgeServer({ ...log, position: follower?.position ?? BEFORE_ALL }, facts);
    if (verdict !== 'follow') return verdict;
    if (log.doubtMs === null && facts.meta?.pending === facts.server)
      this.#state.log = { ...log, doubtMs: facts.meta.sinceMs };
    // Loading failed halfway.
    return follower === null ? 'adopt' : 'follow';
  }

  async #look(connection: RedisConnection): Promise<Look> {
    const sentMs = this.#state.now();
    const facts = await lookAtServer(connection, this.#state.settings.keys);
    if (!facts.isMaster) {
      throw new SharedFilterError('unavailable', 'Cannot follow the log: expected a master, got a replica');
    }
    return { facts, sentMs };
  }

  async #read(connection: RedisConnection, blockMs: number): Promise<RawEntry[]> {
    const { log, follower, settings } = this.#state;
    if (log === null || follower === null) return [];
    const block = blockMs > 0 ? ['BLOCK', String(blockMs)] : [];
    const words = ['XREAD', 'COUNT', String(MOST_ENTRIES), ...block, 'STREAMS'];
    const key = logKey(settings.keys, log.lineage, log.epoch);
    return entriesOf(await connection.call([...words, key, follower.position], blockMs + GRACE_MS));
  }

  /** Applies a reply to the filter of the state. */
  #apply(connection: RedisConnection, entries: readonly RawEntry[]): EntryWork | Promise<EntryWork> {
    const { filter, follower, log } = this.#state;
    if (filter === null || follower === null || log === null) return { work: 'nothing' };
    return this.#applyTo({ filter, follower, snapshot: () => this.#snapshot(connection, log) }, entries);
  }

  /** Applies the entries of a reply from number `from` on. Only a merge has to wait. */
  #applyTo(target: Target, entries: readonly RawEntry[], from = 0): EntryWork | Promise<EntryWork> {
    const { filter, follower } = target;
    for (let i = from; i < entries.length; i++) {
      const { id, fields } = entries[i];
      const work = follower.take(id, readEntry(fields));
      if (work.work === 'reload') return work;
      if (work.work === 'merge') return this.#mergeAndGoOn(target, entries, i + 1);
      if (work.work === 'nothing') continue;
      filter.addWords(work.words);
      this.#state.hashesSinceSnapshot += work.words.length / 2;
    }
    return follower.endReply(entries.length < MOST_ENTRIES);
  }

  async #mergeAndGoOn(target: Target, entries: readonly RawEntry[], from: number): Promise<EntryWork> {
    const merged = await target.snapshot();
    if (merged !== null) target.filter.merge(merged);
    return this.#applyTo(target, entries, from);
  }

  /** Loads snapshot and log again, because an entry is missing. */
  async #reload(connection: RedisConnection, problem: string): Promise<void> {
    this.#state.resyncs++;
    this.#state.isLoading = true;
    this.#state.failed(
      new SharedFilterError('unavailable', `Cannot follow the log: got ${problem}; loading it again`),
    );
    // The next look decides; it is due at once.
    this.#state.follower = null;
    this.#wantsLook = true;
    const look = await this.#look(connection);
    this.#state.looked(look.facts, look.sentMs);
    if (look.facts.meta === null || look.facts.log === null) return;
    await this.#load(connection, look, 'adopt');
  }

  /** Loads snapshot and log into a fresh filter, which becomes this member's own. */
  async #load(connection: RedisConnection, first: Look, verdict: ServerVerdict): Promise<void> {
    const state = this.#state;
    state.isLoading = true;
    let look = first;
    for (;;) {
      const meta = look.facts.meta as FilterMeta;
      checkScheme(meta, state.settings.plan.scheme);
      const loaded = await this.#loadOnce(connection, look);
      const again = loaded.isWhole ? look : await this.#look(connection);
      const hasMoved = again.facts.meta?.snapshotAt !== meta.snapshotAt;
      if (loaded.isWhole || (!hasMoved && again.facts.server === look.facts.server)) {
        this.#take(loaded, look, verdict);
        return;
      }
      // Another member made two snapshots meanwhile, and trimmed entries that were still to be
      // read.
      if (again.facts.meta === null || again.facts.log === null) return;
      look = again;
    }
  }

  async #loadOnce(connection: RedisConnection, { facts, sentMs }: Look): Promise<Loaded> {
    const meta = facts.meta as FilterMeta;
    const log = { ...meta, server: facts.server };
    const snapshot = await this.#snapshot(connection, log);
    const filter = snapshot ?? new StagedFilter(meta.plan, this.#state.settings.hash);
    const follower = new LogFollower({ position: meta.snapshotAt, entries: meta.snapshotEntries });
    this.#state.hashesSinceSnapshot = 0;
    let isWhole = snapshot !== null || meta.snapshotEntries === 0;
    if (facts.log !== null && follower.check(facts.log, sentMs).work === 'reload') isWhole = false;
    const key = logKey(this.#state.settings.keys, meta.lineage, meta.epoch);
    const target = { filter, follower, snapshot: () => this.#snapshot(connection, log) };
    for (;;) {
      const words = ['XREAD', 'COUNT', String(MOST_ENTRIES), 'STREAMS', key, follower.position];
      const entries = entriesOf(await connection.call(words));
      const work = await this.#applyTo(target, entries);
      // The rest is read all the same: it can only add keys.
      if (work.work === 'reload') isWhole = false;
      if (entries.length < MOST_ENTRIES) return { filter, follower, isWhole };
    }
  }

  /**
   * Makes a loaded filter this member's own. No command runs meanwhile, so no add slips through.
   */
  #take({ filter, follower, isWhole }: Loaded, { facts, sentMs }: Look, verdict: ServerVerdict): void {
    const state = this.#state;
    const { lineage, epoch, base, plan, sinceMs } = facts.meta as FilterMeta;
    const doubtMs = isDoubtNew(facts) ? null : sinceMs;
    const old = state.filter;
    state.closeBatch();
    for (const words of verdict === 'replace' ? state.adds.neverAcknowledged() : state.adds.unconfirmed())
      filter.addWords(words);
    if (old !== null && verdict !== 'replace') {
      if (!isSameSize(old, filter)) {
        throw new SharedFilterError(
          'scheme',
          `Cannot join the filter: expected capacity ${old.size.capacity} at ${old.size.falsePositiveRate}, ` +
            `got ${filter.size.capacity} at ${filter.size.falsePositiveRate}`,
        );
      }
      state.owes ||= !old.isSubsetOf(filter);
      filter.merge(old);
    }
    if (!isWhole) {
      state.hasHole = true;
      state.owes = true;
    }
    state.filter = filter;
    state.log = { lineage, epoch, base, plan, server: facts.server, doubtMs };
    state.follower = isWhole ? follower : new LogFollower(endOf(facts, follower));
    state.isLoading = false;
    state.looked(facts, sentMs);
    this.#alarm();
  }

  async #snapshot(
    connection: RedisConnection,
    { lineage, epoch, plan }: Pick<FilterMeta, 'lineage' | 'epoch' | 'plan'>,
  ): Promise<StagedFilter | null> {
    const { keys, hash } = this.#state.settings;
    const reply = await connection.call(['HGETALL', snapshotKey(keys, lineage, epoch)], LOAD_MS);
    const flat = reply as unknown[];
    const frames: Uint8Array[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) frames[Number(textOf(flat[i]))] = flat[i + 1] as Uint8Array;
    return frames.length === 0 ? null : StagedFilter.decode(frames, plan, hash);
  }
}

/** A filter that is read into. */
interface Target {
  readonly filter: StagedFilter;
  readonly follower: LogFollower;
  readonly snapshot: () => Promise<StagedFilter | null>;
}

interface Loaded {
  readonly filter: StagedFilter;
  readonly follower: LogFollower;
  /** Whether snapshot and log fit together without a gap. */
  readonly isWhole: boolean;
}

/** The place after a log with a hole: the counts of the server are taken as they are. */
function endOf({ log }: ServerFacts, follower: LogFollower) {
  return { position: log?.last ?? follower.position, entries: log?.entries ?? follower.entries };
}

function isSameSize({ size: a }: StagedFilter, { size: b }: StagedFilter): boolean {
  return a.capacity === b.capacity && a.falsePositiveRate === b.falsePositiveRate;
}

function checkScheme({ plan }: FilterMeta, scheme: string): void {
  if (plan.scheme === scheme) return;
  throw new SharedFilterError(
    'scheme',
    `Cannot use the shared filter: expected hashes by ${scheme}, got a filter by ${plan.scheme}`,
  );
}
