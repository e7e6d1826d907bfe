/**
 * Runs a task for folders whenever files in them change, until a signal comes. Changes are told by
 * the file system where it can, and looked for from time to time as well: a network file system
 * tells nothing, and the system's table of watches may be full. Between two runs for a folder there
 * is a pause, so a log that is written all the time costs one run for each pause.
 */

import { type Dirent, type FSWatcher, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '@bloomery/files';
import { INDEX_FOLDER } from './index-manifest.ts';

export interface WatchOptions {
  /** Time between two runs for one folder, at least. */
  readonly pauseMs: number;
  /** Time after which a folder is looked at without a change that was told. */
  readonly lookMs: number;
  readonly signal: AbortSignal;
  /** Does the work. It must not reject. */
  readonly run: (folder: string) => Promise<void>;
  /** Called once for a folder whose changes are not told. */
  readonly onUnwatched: (folder: string, error: Error) => void;
}

/** Runs the task for each folder at once, and then after changes. Returns after the signal. */
export async function watchFolders(folders: readonly string[], options: WatchOptions): Promise<void> {
  const watched = folders.map((folder) => new WatchedFolder(folder, options));
  const { signal } = options;
  try {
    while (!signal.aborted) {
      const due = watched.find((folder) => folder.dueInMs() <= 0);
      if (due === undefined) await nextTurn(watched, signal);
      else await due.run();
    }
  } finally {
    for (const folder of watched) folder.close();
  }
}

/** Waits until a folder is due, a change is told, or the signal comes. */
function nextTurn(watched: readonly WatchedFolder[], signal: AbortSignal): Promise<void> {
  const ms = Math.min(...watched.map((folder) => folder.dueInMs()));
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      for (const folder of watched) folder.onChange = null;
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    for (const folder of watched) folder.onChange = end;
  });
}

class WatchedFolder {
  readonly #folder: string;
  readonly #options: WatchOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  #isUnwatched = false;
  #changed = true;
  /** The end of the last run, by `performance.now`. */
  #lastRun = Number.NEGATIVE_INFINITY;
  onChange: (() => void) | null = null;

  constructor(folder: string, options: WatchOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Time until the next run; 0 or less if it is due. */
  dueInMs(): number {
    const { pauseMs, lookMs } = this.#options;
    return this.#lastRun + (this.#changed ? pauseMs : Math.max(pauseMs, lookMs)) - performance.now();
  }

  async run(): Promise<void> {
    // The folder is watched before the run, so that a change during the run is told.
    this.#watch();
    this.#changed = false;
    await this.#options.run(this.#folder);
    this.#lastRun = performance.now();
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
  }

  /**
   * Watches the folder and those below it that are not watched yet. A watch of a folder tells the
   * changes of its files. Node's watch of a whole tree takes one for each file, and the system
   * allows some thousand.
   */
  #watch(): void {
    const present = new Set(foldersBelow(this.#folder));
    for (const [folder, watcher] of this.#watchers) if (!present.has(folder)) this.#end(folder, watcher);
    for (const folder of present) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, () => {
          this.#changed = true;
          this.onChange?.();
        });
        this.#watchers.set(folder, watcher);
        // The folder was removed; a run finds another one in its place.
        watcher.on('error', () => this.#end(folder, watcher));
      } catch (error) {
        if (errorCode(error) === 'ENOENT') continue;
        if (!this.#isUnwatched) this.#options.onUnwatched(this.#folder, error as Error);
        this.#isUnwatched = true;
        return;
      }
    }
  }

  #end(folder: string, watcher: FSWatcher): void {
    watcher.close();
    this.#watchers.delete(folder);
  }
}

/** A folder and those below it, without those of the index, whose files change with each run. */
function* foldersBelow(folder: string): Generator<string> {
  yield folder;
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    // It was removed, or may not be read: a run tells that.
    return;
  }
  for (const entry of entries)
    if (entry.isDirectory() && entry.name !== INDEX_FOLDER) yield* foldersBelow(join(folder, entry.name));
}
