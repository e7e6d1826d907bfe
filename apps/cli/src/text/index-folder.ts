/**
 * Indexes the files of a folder, or those that changed since the last time. New blocks go into an
 * index file of their own, which is flushed to the disk before the list of files names it. So a
 * crash leaves the old index, and at worst a file that the next run removes.
 */

import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { FolderLock } from '@bloomery/files';
import type { GramScheme } from '@bloomery/stores/text';
import { letSignalsIn } from '../terminal/orderly-end.ts';
import { UnpackError } from '../unpacking/packed-part.ts';
import {
  INDEX_FOLDER,
  type IndexedFile,
  type IndexFile,
  type IndexManifest,
  ManifestError,
  readManifest,
  writeManifest,
} from './index-manifest.ts';
import { IndexOutput } from './index-output.ts';
import { filesBelow } from './list-files.ts';
import { repackFile } from './repacking/repack-file.ts';
import type { TextBlock } from './scanning/block-builder.ts';
import { cutJobs, type FileJob } from './scanning/cut-jobs.ts';
import { scanJobs } from './scanning/scan-workers.ts';
import { ScannedFile, type ScannedText } from './scanning/scanned-file.ts';
import { changeOf, type FileKind, identify, kindOf, statOf } from './text-file.ts';

export interface IndexOptions {
  readonly scheme: GramScheme;
  /** Indexes all files again. */
  readonly rebuild?: boolean;
  /** Writes packed files of one piece again as files of many members, before they are indexed. */
  readonly repack?: boolean;
  /** Threads that scan. Default 1. The index is the same with any number. */
  readonly threads?: number;
  /** Ends the run: the former index stays. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (bytes: number) => void;
  readonly onWarning?: (message: string) => void;
}

export interface IndexReport {
  readonly files: number;
  /** Files that this run indexed, whole or from where the last run ended. */
  readonly indexed: number;
  readonly grown: number;
  readonly renamed: number;
  readonly removed: number;
  readonly repacked: number;
  /** Unpacked bytes that were scanned now. */
  readonly textBytes: number;
  /** Unpacked bytes of all indexed files, and bytes of the index. */
  readonly totalTextBytes: number;
  readonly indexBytes: number;
  readonly blocks: number;
}

/** At this number of index files the smaller ones are joined. */
const MOST_INDEXES = 8;

export async function indexFolder(folder: string, options: IndexOptions): Promise<IndexReport> {
  mkdirSync(join(folder, INDEX_FOLDER), { recursive: true });
  const lock = await FolderLock.take(join(folder, INDEX_FOLDER));
  try {
    return await new FolderIndexer(folder, options).run();
  } finally {
    lock.release();
  }
}

type Plan =
  | { readonly action: 'keep'; readonly known: IndexedFile }
  /** The text before `from` stays in its index files. */
  | { readonly action: 'extend'; readonly known: IndexedFile; readonly from: IndexedFile['last'] }
  | { readonly action: 'index' };

/** A file that is being scanned, and what the list will say about it. */
interface OpenEntry {
  readonly path: string;
  readonly name: string;
  /** The former entry, if the file has grown. */
  readonly known: IndexedFile | null;
  readonly from: IndexedFile['last'];
  readonly entry: Omit<IndexedFile, 'last' | 'parts'>;
}

class FolderIndexer {
  readonly #folder: string;
  readonly #options: IndexOptions;
  readonly #former: IndexManifest | null;
  readonly #byPath = new Map<string, IndexedFile>();
  readonly #byInode = new Map<string, IndexedFile>();
  readonly #stale: ReadonlySet<string>;
  #nextId: number;
  /** The new list, by path and in its order; null for a file that is not done, or is left out. */
  readonly #files = new Map<string, IndexedFile | null>();
  readonly #open = new Map<ScannedFile, OpenEntry>();
  /** Ids of the known files that this run extends. */
  readonly #extended = new Set<number>();
  #renamed = 0;
  #grown = 0;
  #indexed = 0;
  #repacked = 0;
  #textBytes = 0;

  constructor(folder: string, options: IndexOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#former = this.#readFormer();
    for (const file of this.#former?.files ?? []) {
      this.#byPath.set(file.path, file);
      this.#byInode.set(inodeNumber(file), file);
    }
    this.#stale = staleIndexes(this.#former?.indexes ?? []);
    this.#nextId = this.#former?.nextId ?? 1;
  }

  async run(): Promise<IndexReport> {
    const name = `${Date.now().toString(36)}-${randomBytes(4).toString('hex')}.text`;
    const output = new IndexOutput(join(this.#folder, INDEX_FOLDER, name), this.#options.scheme);
    try {
      if (this.#options.repack) await this.#repackAll();
      await this.#scanAll(name, output);
      const made = output.finish(name);
      const files = [...this.#files.values()].filter((file) => file !== null);
      const unindexed = [...this.#files].filter(([, file]) => file === null).map(([path]) => path);
      const used = new Set(files.flatMap(({ parts }) => parts.map(({ index }) => index)));
      const indexes = [...(this.#former?.indexes ?? []), ...(made === null ? [] : [made])].filter((index) =>
        used.has(index.name),
      );
      const { scheme, repack: repacked = false } = this.#options;
      if (!this.#isSame(files, indexes, unindexed))
        writeManifest(this.#folder, { scheme, nextId: this.#nextId, repacked, indexes, files, unindexed });
      removeOthers(join(this.#folder, INDEX_FOLDER), new Set(indexes.map((index) => index.name)));
      return this.#report(files, indexes);
    } catch (error) {
      output.discard();
      throw error;
    }
  }

  #isSame(
    files: readonly IndexedFile[],
    indexes: readonly IndexFile[],
    unindexed: readonly string[],
  ): boolean {
    if (this.#former === null) return false;
    const { files: before, indexes: indexesBefore, unindexed: unindexedBefore = [] } = this.#former;
    return (
      JSON.stringify([files, indexes, unindexed]) === JSON.stringify([before, indexesBefore, unindexedBefore])
    );
  }

  /** The path below the folder, with slashes. */
  #nameOf(path: string): string {
    return relative(this.#folder, path).split(sep).join('/');
  }

  #readFormer(): IndexManifest | null {
    try {
      const former = readManifest(this.#folder);
      const isLike = JSON.stringify(former?.scheme) === JSON.stringify(this.#options.scheme);
      return isLike && !this.#options.rebuild ? former : null;
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      this.#options.onWarning?.(`${error.message}; all files are indexed again`);
      return null;
    }
  }

  /** Repacks the packed files that are new or changed. */
  async #repackAll(): Promise<void> {
    for (const path of filesBelow(this.#folder)) {
      await letSignalsIn();
      this.#options.signal?.throwIfAborted();
      if (!this.#isKept(path)) await this.#repack(path);
    }
  }

  /** Repacks a packed file. A file that cannot be repacked is indexed as it is. */
  async #repack(path: string): Promise<void> {
    const { onWarning, scheme } = this.#options;
    try {
      const result = await repackFile(path, join(this.#folder, INDEX_FOLDER, 'file.repack'), scheme);
      if (result.outcome === 'repacked') this.#repacked++;
      else if (result.outcome === 'larger')
        onWarning?.(`${path} stays in one piece: with members it would be larger (${result.after} bytes)`);
    } catch (error) {
      if (!(error instanceof UnpackError)) throw error;
      onWarning?.(`${path} was not repacked: ${error.message}`);
    }
  }

  /** Scans all files that are new or changed, on all threads. */
  async #scanAll(index: string, output: IndexOutput): Promise<void> {
    const { scheme, threads = 1, signal, onProgress } = this.#options;
    const jobs = cutJobs(this.#filesToScan(), scheme);
    try {
      for await (const { job, event } of scanJobs(jobs, threads)) {
        await letSignalsIn();
        signal?.throwIfAborted();
        if (event.kind === 'blocks') {
          for (const block of event.blocks) output.add(placedBlock(job, block));
          if (event.bytes > 0) onProgress?.(event.bytes);
          continue;
        }
        event.pieces.forEach((piece, i) => {
          const file = job.files[i];
          const text = file.add(piece);
          if (text !== null) this.#endFile(file, text, index);
        });
      }
    } finally {
      for (const file of this.#open.keys()) file.close();
    }
  }

  /**
   * Looks at all files, and opens those that are to be scanned. A descriptor stays open until its
   * file is done, so only the files of a few jobs are open at a time.
   */
  *#filesToScan(): Generator<ScannedFile> {
    const { onWarning } = this.#options;
    for (const path of filesBelow(this.#folder)) {
      const name = this.#nameOf(path);
      // The place of the file in the list. One that cannot be read stays null.
      this.#files.set(name, null);
      let descriptor: number;
      try {
        descriptor = openSync(path, 'r');
      } catch (error) {
        onWarning?.(`${path} was left out: ${(error as Error).message}`);
        continue;
      }
      const plan = this.#plan(descriptor, name);
      if (plan.action === 'keep') {
        closeSync(descriptor);
        if (plan.known.path !== name) this.#renamed++;
        this.#files.set(name, { ...plan.known, path: name });
        continue;
      }
      // Of two names of one file, the second is indexed as a file of its own.
      const isFirst = plan.action === 'extend' && !this.#extended.has(plan.known.id);
      const known = isFirst ? plan.known : null;
      if (known !== null) this.#extended.add(known.id);
      const identity = identify(descriptor);
      const kind: FileKind = known === null ? kindOf(descriptor) : 'plain';
      const id = known?.id ?? this.#nextId++;
      const from = isFirst ? plan.from : { start: 0, lines: 0 };
      const file = new ScannedFile({ descriptor, id, kind, identity, from });
      this.#open.set(file, { path, name, known, from, entry: { ...identity, id, path: name, kind } });
      yield file;
    }
  }

  #endFile(file: ScannedFile, { at, last, problem }: ScannedText, index: string): void {
    const { path, name, known, from, entry } = this.#open.get(file)!;
    this.#open.delete(file);
    if (problem !== null) {
      this.#options.onWarning?.(`${path} was left out, and is read whole by each search: ${problem}`);
      return;
    }
    this.#indexed++;
    if (known !== null) this.#grown++;
    this.#textBytes += at - from.start;
    const kept = (known?.parts ?? []).map((part) => ({ ...part, to: Math.min(part.to, from.start) }));
    const made = { index, from: from.start, to: at, lines: from.lines };
    const parts = [...kept, made].filter((part) => part.to > part.from);
    this.#files.set(name, { ...entry, last, parts });
  }

  /** Whether the former index has the file as it is now. Such a file was looked at before. */
  #isKept(path: string): boolean {
    let descriptor: number;
    try {
      descriptor = openSync(path, 'r');
    } catch {
      // It is left out with a warning when it is to be scanned.
      return true;
    }
    try {
      const name = this.#nameOf(path);
      return this.#plan(descriptor, name).action === 'keep' && this.#former?.repacked === true;
    } finally {
      closeSync(descriptor);
    }
  }

  /** Decides by the former index. A file under another name is recognised by its inode. */
  #plan(descriptor: number, name: string): Plan {
    const { dev, ino } = statOf(descriptor);
    for (const known of [this.#byPath.get(name), this.#byInode.get(`${dev}:${ino}`)]) {
      if (known === undefined || known.kind !== kindOf(descriptor)) continue;
      const change = changeOf(descriptor, known);
      if (change === 'changed' || (change === 'grown' && known.kind !== 'plain')) continue;
      const stale = known.parts.find(({ index }) => this.#stale.has(index));
      if (stale === undefined)
        return change === 'same' ? { action: 'keep', known } : { action: 'extend', known, from: known.last };
      if (known.kind === 'plain' && stale.lines !== undefined && stale.from > 0)
        return { action: 'extend', known, from: { start: stale.from, lines: stale.lines } };
    }
    return { action: 'index' };
  }

  #report(files: readonly IndexedFile[], indexes: readonly IndexFile[]): IndexReport {
    const kept = new Set(files.map(({ id }) => id));
    return {
      files: files.length,
      indexed: this.#indexed,
      grown: this.#grown,
      renamed: this.#renamed,
      repacked: this.#repacked,
      removed: (this.#former?.files ?? []).filter(({ id }) => !kept.has(id)).length,
      textBytes: this.#textBytes,
      totalTextBytes: files.reduce((sum, { parts }) => sum + (parts.at(-1)?.to ?? 0), 0),
      indexBytes: indexes.reduce((sum, { size }) => sum + size, 0),
      blocks: indexes.reduce((sum, { blocks }) => sum + blocks, 0),
    };
  }
}

/** The block with extents that count the newlines of whole files. */
function placedBlock({ files }: FileJob, { bits, extents }: TextBlock): TextBlock {
  // Only the pieces of a large file count from their own beginning, and such a job has one file.
  return { bits, extents: files.length > 1 ? extents : extents.map((extent) => files[0].placed(extent)) };
}

/**
 * The smaller index files, if there are too many: their text is scanned again, into one. The four
 * largest files stay, or fewer: except for the largest, a file that is smaller than all smaller
 * ones together does not stay. So a log that grows is scanned some ten times in all, however often
 * the index is renewed.
 */
function staleIndexes(indexes: readonly IndexFile[]): ReadonlySet<string> {
  if (indexes.length < MOST_INDEXES) return new Set();
  const bySize = [...indexes].sort((a, b) => b.size - a.size);
  let kept = MOST_INDEXES / 2;
  const smaller = () => bySize.slice(kept).reduce((sum, { size }) => sum + size, 0);
  while (kept > 1 && bySize[kept - 1].size < smaller()) kept--;
  return new Set(bySize.slice(kept).map(({ name }) => name));
}

/** Removes index files that no list names: those of runs that were killed, and those replaced. */
function removeOthers(folder: string, used: ReadonlySet<string>): void {
  for (const name of readdirSync(folder)) {
    if ((name.endsWith('.text') && !used.has(name)) || name.endsWith('.repack'))
      rmSync(join(folder, name), { force: true });
  }
}

function inodeNumber({ inode }: IndexedFile): string {
  return inode.split(':').slice(0, 2).join(':');
}

/** Bytes of all files below a folder, for the progress bar. */
export function bytesBelow(folder: string): number {
  let bytes = 0;
  for (const path of filesBelow(folder)) bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return bytes;
}
