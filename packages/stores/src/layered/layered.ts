/**
 * Differential files (Severance and Lohman 1976; survey 3.2): local changes over a base that is
 * only read. A read looks for a change first. A Bloom filter in memory says for most unchanged
 * records that there is none, so they cost one read, that of the base.
 *
 * What it promises:
 *
 * - A change is on the disk when its promise resolves. A batch takes effect as a whole.
 * - A read that begins after a change was acknowledged sees that change or a later one.
 * - The filter and the index are derived from the log and rebuilt at each start.
 * - A merge puts a new base in place and drops the changes in it, or does neither. Reads and
 *   changes go on meanwhile; both see the same records before and after.
 *
 * Iteration sees each key once, with a value that it had at some moment of the iteration: first the
 * unchanged records in the order of the base, then the changed ones. It needs memory only for keys
 * that are changed while it runs.
 *
 * Where it breaks down: a filter in front of a memory lookup saves nothing. It pays where a look
 * into the changes is a system call on a cold file, a thread or a network
 * (bench/results/layered.md).
 */

import { tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { errorCode } from '@bloomery/files';
import type { Abortable, Base, Change } from './base.ts';
import { isMergeDue, msUntil } from './decisions/merge-policy.ts';
import { LayerError } from './layer-error.ts';
import { LayerState } from './layer-state.ts';
import { type CheckedOptions, checkOptions, type LayeredOptions } from './layered-options.ts';
import { ChangeLog } from './log/change-log.ts';
import { ChangedKeys } from './log/changed-keys.ts';
import { CHANGE_HEAD, ENTRY_HEAD, encodeEntry, type LoggedChange, MAX_KEY_BYTES } from './log/log-bytes.ts';
import { type Segment, scanSegment } from './log/segment-file.ts';

export interface LayerStats {
  /** Reads of single records. */
  readonly reads: number;
  /** Reads for which the filter said that there is no change. */
  readonly saved: number;
  /** Reads that found a change. */
  readonly changed: number;
  /** Reads that looked for a change in vain: false positives of the filter. */
  readonly wasted: number;
  /** Changed keys that the log holds now. */
  readonly changedKeys: number;
  readonly logBytes: number;
  readonly filterBytes: number;
  readonly merges: number;
  /**
   * Mean times of a read that found a change and of a read of the base, and times of the last merge
   * and the start.
   */
  readonly changedReadMs: number | undefined;
  readonly baseReadMs: number | undefined;
  readonly mergeMs: number | undefined;
  readonly startMs: number;
}

export interface MergeOptions extends Abortable {
  /** Called now and then with the bytes of the log that were read, and their total number. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface MergeReport {
  /** Records that were set and deleted in the new base. */
  readonly set: number;
  readonly deleted: number;
  readonly ms: number;
}

const RETRIES = 20;
const RETRY_MS = 50;
/** After a failed merge the policy waits this long. */
const MERGE_RETRY_MS = 60_000;

/**
 * Opens the layer of a folder with changes over a base, and creates the folder if it does not
 * exist. One process at a time can change it; `readOnly` lets others read.
 */
export async function layered<V = Uint8Array>(
  base: Base<V>,
  changes: string,
  options: LayeredOptions<V> = {},
): Promise<Layered<V>> {
  if (typeof base?.get !== 'function')
    throw new TypeError('Cannot open a layer: expected a base with { get }, got none');
  if (typeof changes !== 'string' || changes === '')
    throw new TypeError('Cannot open a layer: expected the path of a folder for the changes');
  const checked = checkOptions(options);
  for (let attempt = 0; ; attempt++) {
    try {
      return await Layered.open(base, changes, checked, options.signal);
    } catch (error) {
      // A writer may be in the middle of a merge, and remove the files that a reader is opening.
      if (!checked.readOnly || attempt >= RETRIES || errorCode(error) !== 'ENOENT') throw error;
      await pause(RETRY_MS, undefined, options.signal === undefined ? {} : { signal: options.signal });
    }
  }
}

export class Layered<V> {
  readonly #options: CheckedOptions<V>;
  readonly #log: ChangeLog;
  #state: LayerState<V>;
  readonly #startMs: number;
  #closed = false;
  /** Keys that are reserved in the index and not noted yet. */
  #unnoted = 0;
  #merging: Promise<MergeReport> | null = null;
  #baseRecords: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #notBefore = 0;
  readonly #counts = {
    reads: 0,
    saved: 0,
    changed: 0,
    wasted: 0,
    merges: 0,
    changedMs: 0,
    baseMs: 0,
    timed: 0,
  };
  #mergeMs: number | undefined;

  private constructor(log: ChangeLog, state: LayerState<V>, options: CheckedOptions<V>, startMs: number) {
    this.#log = log;
    this.#state = state;
    this.#options = options;
    this.#startMs = startMs;
  }

  /** @internal */
  static async open<V>(
    base: Base<V>,
    folder: string,
    options: CheckedOptions<V>,
    signal: AbortSignal | undefined,
  ): Promise<Layered<V>> {
    const begin = performance.now();
    const abortable = { signal };
    const log = await ChangeLog.open(folder, {
      readOnly: options.readOnly,
      identity: (await base.identity?.(abortable)) ?? '',
      mergedThrough: async (name) => base.mergedThrough?.(name, abortable),
      signal,
    });
    const keys = new ChangedKeys({
      folder: log.isWritable ? folder : tmpdir(),
      bitsPerChange: options.bitsPerChange,
      expected: options.expectedChanges,
      secret: options.secret,
    });
    const state = new LayerState(base, keys, log);
    try {
      await load(log, state, options, signal);
      const layer = new Layered(log, state, options, performance.now() - begin);
      await layer.#startPolicy(signal);
      return layer;
    } catch (error) {
      keys.close();
      await log.close();
      throw error;
    }
  }

  /** The record of a key, changed or not; undefined if there is none. */
  async get(key: string, options: Abortable = {}): Promise<V | undefined> {
    const state = this.#enter();
    try {
      this.#counts.reads++;
      if (!state.keys.mayHave(key)) {
        this.#counts.saved++;
        return await this.#getFromBase(state, key, options);
      }
      const begin = performance.now();
      const change = await this.#changeIn(state, keyBytes(key));
      if (change === undefined) {
        this.#counts.wasted++;
        return await this.#getFromBase(state, key, options);
      }
      this.#counts.changed++;
      this.#counts.changedMs += performance.now() - begin;
      return change.value === null ? undefined : this.#decode(change.value);
    } finally {
      state.leave();
    }
  }

  async has(key: string, options: Abortable = {}): Promise<boolean> {
    return (await this.get(key, options)) !== undefined;
  }

  /** The change of a key in the log, or undefined if the record is that of the base. */
  async changeOf(key: string, { signal }: Abortable = {}): Promise<Change<V> | undefined> {
    signal?.throwIfAborted();
    const state = this.#enter();
    try {
      if (!state.keys.mayHave(key)) return undefined;
      const change = await this.#changeIn(state, keyBytes(key));
      return change === undefined ? undefined : this.#changeFrom(key, change);
    } finally {
      state.leave();
    }
  }

  /** Sets a record. It is on the disk when the promise resolves. */
  async set(key: string, value: V): Promise<void> {
    await this.batch([{ key, value }]);
  }

  /** Deletes a record: the log hides it from now on, whether the base has it or not. */
  async delete(key: string): Promise<void> {
    await this.batch([{ key, deleted: true }]);
  }

  /** Makes several changes that take effect as a whole, in order. */
  async batch(changes: Iterable<Change<V>>): Promise<void> {
    this.#check();
    if (!this.#log.isWritable)
      throw new LayerError(
        'closed',
        `Cannot change ${this.#log.folder}: expected a layer for writing, got one opened with readOnly`,
      );
    const logged: LoggedChange[] = [];
    for (const change of changes) {
      const value = change.deleted === true ? null : this.#options.values.encode(change.value);
      logged.push({ key: keyBytes(change.key), value });
    }
    if (logged.length === 0) return;
    const entry = encodeEntry(logged, this.#log.seed);
    // A full disk is noticed here, before anything is in the log.
    this.#state.keys.reserve(this.#unnoted + logged.length);
    this.#unnoted += logged.length;
    let isNoted = false;
    try {
      await this.#log.append(entry, logged.length, (position) => {
        isNoted = true;
        this.#unnoted -= logged.length;
        this.#note(logged, position);
      });
    } finally {
      if (!isNoted) this.#unnoted -= logged.length;
    }
    this.#mergeIfDue();
  }

  /** All records. The head of this file says what an iteration sees. */
  async *entries({ signal }: Abortable = {}): AsyncGenerator<[string, V]> {
    const state = this.#enter();
    try {
      const { entries } = state.base;
      if (entries === undefined)
        throw new LayerError('unable', 'Cannot list records: expected a base with entries, got one without');
      const end = this.#log.end;
      /** Keys that were changed since the iteration began, and have been passed on. */
      const later = new Set<string>();
      for await (const [key, value] of entries.call(state.base, { signal })) {
        signal?.throwIfAborted();
        const position = state.keys.mayHave(key) ? state.find(keyBytes(key)) : undefined;
        if (position === undefined) yield [key, value];
        else if (position >= end) {
          later.add(key);
          yield* this.#live(state, key, position);
        }
      }
      for await (const change of state.changesBefore(end, signal)) {
        const position = state.find(change.key)!;
        if (position < end && position !== change.position) continue;
        const key = Buffer.from(change.key).toString();
        if (position === change.position) {
          if (change.value !== null) yield [key, this.#decode(change.value)];
        } else if (!later.has(key)) {
          later.add(key);
          yield* this.#live(state, key, position);
        }
      }
    } finally {
      state.leave();
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<[string, V]> {
    return this.entries();
  }

  async *keys(options: Abortable = {}): AsyncGenerator<string> {
    for await (const [key] of this.entries(options)) yield key;
  }

  async *values(options: Abortable = {}): AsyncGenerator<V> {
    for await (const [, value] of this.entries(options)) yield value;
  }

  /** The latest change of each changed key, in the order in which they were made. */
  async *changes({ signal }: Abortable = {}): AsyncGenerator<Change<V>> {
    const state = this.#enter();
    try {
      for await (const change of this.#latestBefore(state, this.#log.end, { signal })) yield change;
    } finally {
      state.leave();
    }
  }

  /**
   * Makes a new base with all changes so far, and drops them from the log. A call during a merge
   * waits for that one.
   */
  merge(options: MergeOptions = {}): Promise<MergeReport> {
    this.#merging ??= this.#merge(options).finally(() => {
      this.#merging = null;
    });
    return this.#merging;
  }

  stats(): LayerStats {
    const { reads, saved, changed, wasted, merges, changedMs, baseMs, timed } = this.#counts;
    return {
      reads,
      saved,
      changed,
      wasted,
      merges,
      changedKeys: this.#state.keys.count,
      logBytes: this.#log.end - this.#log.start,
      filterBytes: this.#state.keys.filterBytes,
      changedReadMs: changed === 0 ? undefined : changedMs / changed,
      baseReadMs: timed === 0 ? undefined : baseMs / timed,
      mergeMs: this.#mergeMs,
      startMs: this.#startMs,
    };
  }

  /**
   * The filter of the changed keys as a frame, for `layerView` on other machines. They need the
   * `key` of this layer.
   */
  encodeFilter(): Uint8Array {
    this.#check();
    return this.#state.keys.filter.encode();
  }

  /** Waits for changes and a merge under way, closes log and base, and gives the lock back. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#merging?.catch(() => {});
    const { keys, base } = this.#state;
    await this.#log.exclusively(async () => {}).catch(() => {});
    await this.#state.retire(async () => {
      keys.close();
      await this.#log.close();
      await base.close?.();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #enter(): LayerState<V> {
    this.#check();
    return this.#state.enter();
  }

  #check(): void {
    if (this.#closed)
      throw new LayerError(
        'closed',
        `Cannot use ${this.#log.folder}: expected an open layer, got a closed one`,
      );
    if (this.#log.failure !== null) throw this.#log.failure;
  }

  async #getFromBase(state: LayerState<V>, key: string, options: Abortable): Promise<V | undefined> {
    // A clock around each read of a fast base would cost more than it tells.
    if (this.#counts.reads % TIMED_READS !== 0) return state.base.get(key, options);
    const begin = performance.now();
    const value = await state.base.get(key, options);
    this.#counts.baseMs += performance.now() - begin;
    this.#counts.timed++;
    return value;
  }

  async #changeIn(state: LayerState<V>, key: Uint8Array): Promise<LoggedChange | undefined> {
    const position = key.length > MAX_KEY_BYTES ? undefined : state.find(key);
    return position === undefined ? undefined : state.read(position);
  }

  #changeFrom(key: string, { value }: LoggedChange): Change<V> {
    return value === null ? { key, deleted: true } : { key, value: this.#decode(value) };
  }

  #decode(value: Uint8Array): V {
    return this.#options.values.decode(new Uint8Array(value));
  }

  /** Notes the changes of an entry that is on the disk. */
  #note(changes: readonly LoggedChange[], position: number): void {
    try {
      let at = position + ENTRY_HEAD;
      for (const change of changes) {
        this.#state.note(change.key, at);
        at += sizeOf(change);
      }
    } catch (cause) {
      throw this.#log.fail('a change that is in the log could not be noted in the index', cause);
    }
  }

  /** The value that a key has now, if it has one. */
  async *#live(state: LayerState<V>, key: string, position: number): AsyncGenerator<[string, V]> {
    const { value } = await state.read(position);
    if (value !== null) yield [key, this.#decode(value)];
  }

  async *#latestBefore(
    state: LayerState<V>,
    end: number,
    { signal, onProgress }: MergeOptions,
  ): AsyncGenerator<Change<V>> {
    const { start } = this.#log;
    for await (const change of state.changesBefore(end, signal)) {
      onProgress?.(change.position - start, end - start);
      if (state.find(change.key) !== change.position) continue;
      yield this.#changeFrom(Buffer.from(change.key).toString(), change);
    }
  }

  async #merge(options: MergeOptions): Promise<MergeReport> {
    this.#check();
    const begin = performance.now();
    const counts = { set: 0, deleted: 0 };
    const state = this.#state.enter();
    try {
      if (!this.#log.isWritable || state.base.merge === undefined)
        throw new LayerError(
          'unable',
          'Cannot merge: expected a base that can be replaced, got one to read only',
        );
      const position = await this.#log.exclusively(async () => {
        const end = await this.#log.rotate();
        const last = this.#log.segments[this.#log.segments.length - 1];
        if (!state.segments.includes(last)) state.segments.push(last);
        return end;
      });
      if (position === this.#log.start) return { ...counts, ms: 0 };
      const changes = counted(this.#latestBefore(state, position, options), counts);
      const { signal } = options;
      const base = await state.base.merge(changes, { log: this.#log.id, position, signal });
      // The new base is in its place. A crash from here on is repaired by the next start.
      await this.#log.exclusively(() => this.#replace(state, base, position));
    } finally {
      state.leave();
    }
    const ms = performance.now() - begin;
    this.#mergeMs = ms;
    this.#counts.merges++;
    await this.#countBase();
    return { ...counts, ms };
  }

  async #replace(old: LayerState<V>, base: Base<V>, position: number): Promise<void> {
    const identity = (await base.identity?.()) ?? '';
    const keys = old.keys.since(position);
    let merged: Segment[];
    try {
      keys.reserve(this.#unnoted);
      merged = this.#log.settle(identity, position);
    } catch (error) {
      keys.close();
      throw error;
    }
    this.#state = new LayerState(base, keys, this.#log);
    await old.retire(async () => {
      old.keys.close();
      for (const { handle } of merged) await handle.close();
      await old.base.close?.();
    });
  }

  async #countBase(signal?: AbortSignal): Promise<void> {
    if (this.#options.merge.atShare === undefined) return;
    this.#baseRecords = await this.#state.base.count?.({ signal });
    if (this.#baseRecords === undefined)
      throw new LayerError(
        'unable',
        'Cannot merge at a share of the base: expected a base with count, got one without',
      );
  }

  async #startPolicy(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#log.isWritable) return;
    await this.#countBase(signal);
    this.#planDaily();
    this.#mergeIfDue();
  }

  #planDaily(): void {
    const { atTime } = this.#options.merge;
    if (atTime === undefined || this.#closed) return;
    const now = new Date();
    const ms = now.getSeconds() * 1000 + now.getMilliseconds();
    const wait = msUntil(atTime, { hours: now.getHours(), minutes: now.getMinutes(), ms });
    this.#timer = setTimeout(() => {
      this.#planDaily();
      if (this.#state.keys.count > 0) this.#mergeByPolicy();
    }, wait);
    this.#timer.unref();
  }

  #mergeIfDue(): void {
    if (this.#merging !== null || this.#closed || performance.now() < this.#notBefore) return;
    const facts = {
      logBytes: this.#log.end - this.#log.start,
      changedKeys: this.#state.keys.count,
      baseRecords: this.#baseRecords,
    };
    if (isMergeDue(this.#options.merge, facts)) this.#mergeByPolicy();
  }

  #mergeByPolicy(): void {
    this.merge().catch((error: unknown) => {
      this.#notBefore = performance.now() + MERGE_RETRY_MS;
      this.#options.failed(error);
    });
  }
}

/** One read in this many has its time taken. */
const TIMED_READS = 16;

/** Reads the whole log: checks every byte, and fills the index and the filter. */
async function load<V>(
  log: ChangeLog,
  state: LayerState<V>,
  { torn }: CheckedOptions<V>,
  signal: AbortSignal | undefined,
): Promise<void> {
  let isTorn = false;
  let end = log.start;
  for (const [i, segment] of log.segments.entries()) {
    if (segment.start !== end) {
      throw new LayerError(
        'damaged',
        `Cannot read ${segment.path}: expected the log from position ${end} on, got ${segment.start}; restore the missing file`,
      );
    }
    const scan = scanSegment(segment, {
      seed: log.seed,
      isLast: i === log.segments.length - 1,
      signal,
      torn: (found) => {
        isTorn = true;
        if (log.isWritable) torn(found);
      },
    });
    for await (const { changes } of scan) {
      state.keys.reserve(changes.length);
      for (const { key, position } of changes) state.note(key, position);
    }
    end = segment.end;
  }
  if (isTorn && log.isWritable) await log.cutTornEnd();
  state.keys.seal();
}

async function* counted<V>(
  changes: AsyncIterable<Change<V>>,
  counts: { set: number; deleted: number },
): AsyncGenerator<Change<V>> {
  for await (const change of changes) {
    if (change.deleted === true) counts.deleted++;
    else counts.set++;
    yield change;
  }
}

function sizeOf({ key, value }: LoggedChange): number {
  return CHANGE_HEAD + key.length + (value?.length ?? 0);
}

function keyBytes(key: string): Uint8Array {
  if (typeof key !== 'string') throw new TypeError(`Cannot read a key: expected a string, got ${typeof key}`);
  // Two texts that differ in a lone surrogate have the same UTF-8 bytes.
  if (/\p{Surrogate}/u.test(key))
    throw new TypeError('Cannot read a key: expected well-formed text, got a lone surrogate');
  return Buffer.from(key);
}
