/**
 * The log of changes: a folder with a manifest and one or more segments. It is the truth; the
 * filter and the index are derived from it. docs/spec/layered-log.md has its bytes and its crash
 * points.
 *
 * One process writes, and holds the lock of the folder for as long as the log is open. Other
 * processes may open it for reading; they see the entries that were whole when they opened it.
 *
 * A change is acknowledged after fdatasync. Changes that arrive meanwhile go together in the next
 * write (group commit). A write that fails, as on a full disk, is cut off again and its changes are
 * refused. After a failed fdatasync the state of the disk is unknown, so the log takes no more
 * changes until it is opened again.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { FolderLock, syncDirectory, writeAtomically } from '@bloomery/files';
import { LayerError } from '../layer-error.ts';
import { removeScratch } from './change-index.ts';
import {
  decodeSegmentHead,
  ENTRY_HEAD,
  encodeSegmentHead,
  LOG_ID,
  SEGMENT_HEAD,
  seedOf,
  writeEntryHead,
} from './log-bytes.ts';
import { type LogManifest, readManifest, writeManifest } from './log-manifest.ts';
import type { Segment } from './segment-file.ts';

export interface LogOptions {
  readonly readOnly: boolean;
  /** The base below the log, as it is now. */
  readonly identity: string;
  /** Asks the base up to which position a log was merged into it. */
  mergedThrough(log: string): Promise<number | undefined>;
  readonly signal?: AbortSignal | undefined;
}

interface Append {
  readonly entry: Buffer;
  readonly count: number;
  /** Called when the entry is on the disk, in the order of the log. */
  readonly durable: (position: number) => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Task {
  readonly task: () => Promise<void>;
  readonly reject: (error: unknown) => void;
}

/** Bytes that go together in one write. */
const GROUP_BYTES = 8 * 1024 * 1024;
const NAME = /^changes-(\d{16})\.log$/;

export class ChangeLog {
  readonly folder: string;
  readonly id: string;
  readonly seed: number;
  /** In the order of the log; the last one is written to. */
  readonly segments: Segment[] = [];
  readonly #lock: FolderLock | null;
  #manifest: LogManifest;
  #queue: (Append | Task)[] = [];
  #running = false;
  #failure: LayerError | null = null;

  private constructor(folder: string, manifest: LogManifest, lock: FolderLock | null) {
    this.folder = folder;
    this.id = manifest.log;
    this.seed = seedOf(Buffer.from(manifest.log, 'hex'));
    this.#manifest = manifest;
    this.#lock = lock;
  }

  /** Opens or creates a log and all its segments. The entries have not been read yet. */
  static async open(folder: string, options: LogOptions): Promise<ChangeLog> {
    if (options.readOnly) return ChangeLog.#openWith(folder, options, null);
    mkdirSync(folder, { recursive: true });
    let log: ChangeLog | undefined;
    const lock = await FolderLock.take(folder, {
      signal: options.signal,
      lost: () => log?.fail('another process has taken the folder, because this one was stopped'),
    });
    try {
      removeScratch(folder);
      log = await ChangeLog.#openWith(folder, options, lock);
      return log;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  static async #openWith(folder: string, options: LogOptions, lock: FolderLock | null): Promise<ChangeLog> {
    const found = readManifest(folder);
    if (found === undefined && lock === null)
      throw new LayerError(
        'format',
        `Cannot read ${folder}: expected a layer, got a folder without layer.json`,
      );
    const manifest =
      found === undefined ? create(folder, options.identity) : await overBase(folder, found, options);
    if (lock !== null && found !== undefined && manifest !== found) writeManifest(folder, manifest);
    const log = new ChangeLog(folder, manifest, lock);
    try {
      await log.#openSegments();
    } catch (error) {
      await log.#closeSegments();
      throw error;
    }
    if (lock !== null) removeBefore(folder, manifest.start);
    return log;
  }

  /** Position at which the log begins. */
  get start(): number {
    return this.#manifest.start;
  }

  /** Position after the last entry that is on the disk. */
  get end(): number {
    return this.#last.end;
  }

  get isWritable(): boolean {
    return this.#lock !== null;
  }

  get failure(): LayerError | null {
    return this.#failure;
  }

  get #last(): Segment {
    return this.segments[this.segments.length - 1];
  }

  /** The segment that holds a position. */
  segmentAt(position: number): Segment {
    const found = this.segments.findLast(({ start }) => start <= position);
    if (found === undefined)
      throw new RangeError(`Cannot read the log: expected a position in it, got ${position}`);
    return found;
  }

  /** Appends an entry of `encodeEntry`. Resolves when it is on the disk. */
  append(entry: Buffer, count: number, durable: (position: number) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ entry, count, durable, resolve, reject });
    });
  }

  /** Runs a task between two writes: no change is being written meanwhile. */
  exclusively<T>(task: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ task: async () => resolve(await task()), reject });
    });
  }

  /** Begins a new segment, and returns its position. Only within `exclusively`. */
  async rotate(): Promise<number> {
    const { start, end } = this.#last;
    if (start === end) return end;
    const path = createSegment(this.folder, this.id, end);
    this.segments.push({ path, handle: await open(path, 'r+'), start: end, end });
    return end;
  }

  /**
   * Notes that everything before `start` is in the base with this identity, and removes the
   * segments before it. Returns them still open, for readers that use them.
   */
  settle(base: string, start: number): Segment[] {
    this.#manifest = { log: this.id, base, start };
    writeManifest(this.folder, this.#manifest);
    const merged = this.segments.splice(
      0,
      this.segments.findIndex((segment) => segment.start >= start),
    );
    removeBefore(this.folder, start);
    return merged;
  }

  /** Cuts the last segment off at its end, after a torn entry was found there. */
  async cutTornEnd(): Promise<void> {
    const { handle, start, end } = this.#last;
    await handle.truncate(SEGMENT_HEAD + end - start);
    await handle.sync();
  }

  fail(why: string, cause?: unknown): LayerError {
    this.#failure ??= new LayerError(
      'failed',
      `Cannot write to ${this.folder}: expected a sound log, but ${why}; open it again`,
      { cause },
    );
    return this.#failure;
  }

  /** Waits for the changes under way, closes the files and gives the lock back. */
  async close(): Promise<void> {
    if (this.#running) await this.exclusively(async () => {}).catch(() => {});
    await this.#closeSegments();
    this.#lock?.release();
  }

  async #openSegments(): Promise<void> {
    const { start } = this.#manifest;
    for (const name of segmentNames(this.folder)) {
      if (positionOf(name) < start) continue;
      const path = join(this.folder, name);
      const handle = await open(path, this.#lock === null ? 'r' : 'r+');
      const segment = { path, handle, start: positionOf(name), end: positionOf(name) };
      this.segments.push(segment);
      await this.#checkHead(segment);
    }
    if (this.segments[0]?.start !== start) {
      const got = this.segments.length === 0 ? 'no segment' : `position ${this.segments[0].start}`;
      throw new LayerError(
        'damaged',
        `Cannot read ${this.folder}: expected a log from position ${start} on, got ${got}; restore the missing file`,
      );
    }
  }

  async #checkHead({ handle, path, start }: Segment): Promise<void> {
    const bytes = Buffer.alloc(SEGMENT_HEAD);
    const { bytesRead } = await handle.read(bytes, 0, SEGMENT_HEAD, 0);
    const head = decodeSegmentHead(bytes.subarray(0, bytesRead), path);
    const id = Buffer.from(head.id).toString('hex');
    if (id !== this.id || head.start !== start) {
      throw new LayerError(
        'format',
        `Cannot read ${path}: expected position ${start} of the log ${this.id}, got position ${head.start} of ${id}`,
      );
    }
  }

  async #closeSegments(): Promise<void> {
    for (const { handle } of this.segments) await handle.close();
  }

  #enqueue(item: Append | Task): void {
    this.#queue.push(item);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    // One microtask later, so that changes of one synchronous run are written together.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const first = this.#queue[0];
      if ('task' in first) {
        this.#queue.shift();
        await first.task().catch(first.reject);
      } else await this.#writeGroup();
    }
    this.#running = false;
  }

  async #writeGroup(): Promise<void> {
    const group: Append[] = [];
    for (let size = 0; this.#queue.length > 0 && size < GROUP_BYTES; ) {
      const next = this.#queue[0];
      if ('task' in next) break;
      this.#queue.shift();
      group.push(next);
      size += next.entry.length;
    }
    try {
      if (this.#failure !== null) throw this.#failure;
      const synced = this.end;
      let position = synced;
      for (const { entry, count } of group) {
        writeEntryHead(entry, { length: entry.length - ENTRY_HEAD, position, synced, count }, this.seed);
        position += entry.length;
      }
      await this.#write(group.map(({ entry }) => entry));
      this.#last.end = position;
      let at = synced;
      for (const { entry, durable } of group) {
        durable(at);
        at += entry.length;
      }
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  async #write(entries: readonly Buffer[]): Promise<void> {
    const { handle, start, end } = this.#last;
    const offset = SEGMENT_HEAD + end - start;
    const bytes = entries.length === 1 ? entries[0] : Buffer.concat(entries);
    try {
      for (let at = 0; at < bytes.length; ) {
        at += (await handle.write(bytes, at, bytes.length - at, offset + at)).bytesWritten;
      }
    } catch (error) {
      await handle.truncate(offset).catch((cause) => {
        this.fail('an unfinished write could not be cut off', cause);
      });
      throw error;
    }
    try {
      await handle.datasync();
    } catch (cause) {
      throw this.fail('the disk did not confirm a write', cause);
    }
  }
}

/** Creates the first segment and the manifest of a new log. */
function create(folder: string, base: string): LogManifest {
  for (const name of segmentNames(folder)) {
    // A crash before the manifest leaves an empty first segment. Anything more was a log.
    if (positionOf(name) > 0 || !isEmpty(join(folder, name))) {
      throw new LayerError(
        'damaged',
        `Cannot read ${folder}: expected layer.json beside ${name}, got none; restore it from a backup`,
      );
    }
    unlinkSync(join(folder, name));
  }
  const manifest = { log: randomBytes(LOG_ID).toString('hex'), base, start: 0 };
  createSegment(folder, manifest.log, 0);
  writeManifest(folder, manifest);
  return manifest;
}

/**
 * The manifest that fits the present base. It is `found`, or the one that a merge did not write
 * because it was cut short after the base was in its place.
 */
async function overBase(folder: string, found: LogManifest, options: LogOptions): Promise<LogManifest> {
  const { identity, mergedThrough } = options;
  if (found.base === identity) return found;
  const merged = await mergedThrough(found.log);
  const isOurs = segmentNames(folder).some((name) => positionOf(name) === merged);
  if (merged !== undefined && isOurs && merged > found.start)
    return { log: found.log, base: identity, start: merged };
  throw new LayerError(
    'other-base',
    `Cannot open ${folder}: expected the base ${found.base || 'without an identity'}, got ${identity || 'one without an identity'}; the changes belong to another base, or another program changed it`,
  );
}

function createSegment(folder: string, id: string, start: number): string {
  const path = join(folder, `changes-${String(start).padStart(16, '0')}.log`);
  writeAtomically(path, encodeSegmentHead({ id: Buffer.from(id, 'hex'), start }));
  return path;
}

function removeBefore(folder: string, start: number): void {
  const old = segmentNames(folder).filter((name) => positionOf(name) < start);
  for (const name of old) unlinkSync(join(folder, name));
  if (old.length > 0) syncDirectory(folder);
}

function segmentNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => NAME.test(name))
    .sort();
}

function positionOf(name: string): number {
  return Number(NAME.exec(name)![1]);
}

function isEmpty(path: string): boolean {
  return statSync(path).size <= SEGMENT_HEAD;
}
