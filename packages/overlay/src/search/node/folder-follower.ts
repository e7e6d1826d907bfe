/**
 * Keeps the index of a folder on the disk current: looks at all files at the start, then at folders
 * whose changes the system tells, and at all of them once a minute, because a network file system
 * tells nothing and the table of watches may be full.
 *
 * Work is done in slices of 10 ms, so that questions of peers are answered meanwhile.
 *
 * A change of an ignore file is a change of the whole folder.
 */

import { createHash } from 'node:crypto';
import { type FSWatcher, realpathSync, watch } from 'node:fs';
import { basename, join } from 'node:path';
import type { Cancel, Clock } from '@bloomery/transport';
import type { SharedFolder } from '../shared-folder.ts';
import { fileText, typeOf } from '../texts/file-text.ts';
import {
  type FolderRules,
  folderEntries,
  isChosen,
  type LeftOutReason,
  MOST_FILES,
  readInside,
  rulesAt,
} from './folder-files.ts';

export interface FolderFollowerOptions {
  readonly root: string;
  readonly folder: SharedFolder;
  readonly clock: Clock;
  /** Rules of the root, read again for each look at all files. Default: none. */
  readonly rules?: ((root: string) => FolderRules) | undefined;
  /** Put before each path, where a group has several folders. Default: nothing. */
  readonly prefix?: string | undefined;
  /** Time after which all files are looked at again. Default a minute. */
  readonly lookMs?: number | undefined;
  /** Told about files that are left out for another reason than a rule. */
  readonly problem?: ((path: string, why: string) => void) | undefined;
}

const LOOK_MS = 60_000;
/** Changes that come within this time are looked at together. */
const GATHER_MS = 50;
const SLICE_MS = 10;
/** Time after which files are read again that changed just before they were read. */
const UNSETTLED_MS = 3000;
/** Names of files with rules. */
const IGNORE_FILES = /^\.(bloomery|git)ignore$/;

export class FolderFollower {
  readonly root: string;
  readonly #options: FolderFollowerOptions;
  readonly #prefix: string;
  /** The marks of the files that are in the index, by path below the root. */
  readonly #marks = new Map<string, string>();
  /** Those of them that are read again, because they changed just before they were read. */
  readonly #unsettled = new Set<string>();
  readonly #watchers = new Map<string, FSWatcher>();
  #rules: FolderRules | null = null;
  /** Folders to look at; `null` means all. */
  #dirty = new Set<string>();
  #isAllDirty = true;
  #isRunning = false;
  #isClosed = false;
  #stopTimer: Cancel = () => {};
  #stopLook: Cancel = () => {};
  #whenDone: (() => void)[] = [];
  #sliceEnd = 0;
  /** Files left out, by reason, of the last look at all files. */
  leftOut: Partial<Record<LeftOutReason, number>> = {};
  isWatched = true;

  constructor(options: FolderFollowerOptions) {
    this.#options = options;
    this.root = realpathSync(options.root);
    this.#prefix = options.prefix ?? '';
  }

  /** Files that are in the index. */
  get size(): number {
    return this.#marks.size;
  }

  /** Looks at all files, now and from time to time. Resolves after the first look. */
  start(): Promise<void> {
    this.#lookAgain();
    return this.rescan();
  }

  /** Looks at all files. Resolves when that is done. */
  rescan(): Promise<void> {
    this.#isAllDirty = true;
    const done = new Promise<void>((resolve) => this.#whenDone.push(resolve));
    this.#schedule(0);
    return done;
  }

  /** The text of an indexed file, or null if it is no longer the file that was indexed. */
  async readText(path: string): Promise<string | null> {
    if (!path.startsWith(this.#prefix)) return null;
    const below = path.slice(this.#prefix.length);
    const mark = this.#marks.get(below);
    if (mark === undefined) return null;
    const file = readInside(this.root, below);
    if (typeof file === 'string' || file.mark !== mark) return null;
    return fileText(file.bytes, typeOf(basename(below)));
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    this.#stopLook();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    for (const resolve of this.#whenDone.splice(0)) resolve();
  }

  #lookAgain(): void {
    this.#stopLook = this.#options.clock.after(this.#options.lookMs ?? LOOK_MS, () => {
      this.#isAllDirty = true;
      this.#schedule(0);
      this.#lookAgain();
    });
  }

  #schedule(ms: number): void {
    if (this.#isClosed || this.#isRunning) return;
    this.#stopTimer();
    this.#stopTimer = this.#options.clock.after(ms, () => void this.#run());
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const done = this.#isAllDirty ? this.#whenDone.splice(0) : [];
    const folders = this.#isAllDirty ? null : [...this.#dirty];
    this.#isAllDirty = false;
    this.#dirty = new Set();
    this.#sliceEnd = this.#options.clock.monotonic() + SLICE_MS;
    if (folders === null) await this.#lookAtAll();
    else for (const folder of folders) await this.#lookAt(folder);
    this.#isRunning = false;
    for (const resolve of done) resolve();
    if (this.#isAllDirty || this.#dirty.size > 0) this.#schedule(GATHER_MS);
    else if (this.#unsettled.size > 0) {
      for (const path of this.#unsettled) this.#dirty.add(path.split('/').slice(0, -1).join('/'));
      this.#schedule(UNSETTLED_MS);
    }
  }

  async #lookAtAll(): Promise<void> {
    this.#rules = this.#options.rules?.(this.root) ?? null;
    this.leftOut = {};
    await this.#lookBelow('', this.#rules);
  }

  async #lookAt(path: string): Promise<void> {
    if (path !== '' && !isChosen(this.root, this.#rules, path)) return;
    await this.#lookBelow(path, rulesAt(this.root, this.#rules, path));
  }

  /** Compares the files below a folder with the index. */
  async #lookBelow(path: string, rules: FolderRules | null): Promise<void> {
    const seen = new Set<string>();
    const folders = new Set<string>();
    for (const entry of folderEntries(this.root, rules, path)) {
      if (this.#isClosed) return;
      if (entry.kind === 'folder') {
        folders.add(entry.path);
        this.#watch(entry.path);
      } else if (entry.kind === 'left') this.#leave(entry.path, entry.why);
      else if (this.#index(entry.path, entry.type)) seen.add(entry.path);
      await this.#breathe();
    }
    const begin = path === '' ? '' : `${path}/`;
    for (const known of [...this.#marks.keys()])
      if (known.startsWith(begin) && !seen.has(known)) this.#remove(known);
    for (const [folder, watcher] of this.#watchers)
      if ((folder === path || folder.startsWith(begin)) && !folders.has(folder))
        this.#unwatch(folder, watcher);
  }

  /** Indexes a file if it has changed. Returns false if it is left out. */
  #index(path: string, type: string): boolean {
    const known = this.#marks.get(path) ?? null;
    if (known === null && this.#marks.size >= MOST_FILES) {
      this.#leave(path, 'many');
      return false;
    }
    const file = readInside(this.root, path, this.#unsettled.has(path) ? null : known);
    if (file === 'same') return true;
    if (typeof file === 'string') {
      this.#leave(path, file);
      return false;
    }
    const { bytes, mark, changed, isSettled } = file;
    if (isSettled) this.#unsettled.delete(path);
    else this.#unsettled.add(path);
    this.#options.folder.put({
      path: this.#prefix + path,
      type,
      text: fileText(bytes, type),
      bytes: bytes.length,
      changed,
      digest: createHash('sha256').update(bytes).digest('hex'),
    });
    this.#marks.set(path, mark);
    return true;
  }

  #remove(path: string): void {
    this.#marks.delete(path);
    this.#unsettled.delete(path);
    this.#options.folder.remove(this.#prefix + path);
  }

  #leave(path: string, why: LeftOutReason): void {
    this.leftOut[why] = (this.leftOut[why] ?? 0) + 1;
    if (why === 'large' || why === 'many' || why === 'unreadable') this.#options.problem?.(path, why);
  }

  /** Watches a folder, which tells the changes of its files. */
  #watch(path: string): void {
    if (this.#watchers.has(path)) return;
    try {
      const watcher = watch(join(this.root, path), (_, name) => this.#told(path, name));
      this.#watchers.set(path, watcher);
      // The folder was removed, and the one above it tells that.
      watcher.on('error', () => this.#unwatch(path, watcher));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      if (this.isWatched) this.#options.problem?.(path, 'changes are looked for once a minute');
      this.isWatched = false;
    }
  }

  #unwatch(path: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#watchers.get(path) === watcher) this.#watchers.delete(path);
  }

  #told(folder: string, name: string | null): void {
    if (name !== null && IGNORE_FILES.test(name)) this.#isAllDirty = true;
    else this.#dirty.add(folder);
    if (!this.#isRunning) this.#schedule(GATHER_MS);
  }

  /** Lets other work of the process in when a slice is over. */
  async #breathe(): Promise<void> {
    if (this.#options.clock.monotonic() < this.#sliceEnd) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#sliceEnd = this.#options.clock.monotonic() + SLICE_MS;
  }
}
