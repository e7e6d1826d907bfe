/**
 * Indexes the files of a folder, or those that changed since the last time. New blocks go into an
 * index file of their own, which is flushed to the disk before the list of files names it. So a
 * crash leaves the old index, and at worst a file that the next run removes.
 */

import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { FolderLock, syncDirectory, writeAll } from '@bloomery/files';
import type { GramScheme } from '@bloomery/stores/text';
import { BlockBuilder } from './scanning/block-builder.ts';
import { GzipError, gzipParts } from './gzip-parts.ts';
import {
  INDEX_FOLDER,
  type IndexedFile,
  type IndexFile,
  type IndexManifest,
  ManifestError,
  readManifest,
  writeManifest,
} from './index-manifest.ts';
import { filesBelow } from './list-files.ts';
import { repackGzip } from './repack-gzip.ts';
import { changeOf, type FileKind, identify, kindOf, readSome, statOf } from './text-file.ts';

export interface IndexOptions {
  readonly scheme: GramScheme;
  /** Indexes all files again. */
  readonly rebuild?: boolean;
  /** Writes gzip files of one piece again as files of many members, before they are indexed. */
  readonly repack?: boolean;
  readonly onProgress?: (bytes: number) => void;
  readonly onWarning?: (message: string) => void;
}

export interface IndexReport {
  readonly files: number;
  /** Files that were indexed now, from their beginning or further. */
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

/** Index files beyond this number are joined: the files in the smaller ones are indexed again. */
const MOST_INDEXES = 8;
const PART = 1 << 20;

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
  | { readonly action: 'extend'; readonly known: IndexedFile }
  | { readonly action: 'index' };

class FolderIndexer {
  readonly #folder: string;
  readonly #options: IndexOptions;
  readonly #former: IndexManifest | null;
  readonly #byPath = new Map<string, IndexedFile>();
  readonly #byInode = new Map<string, IndexedFile>();
  readonly #stale: ReadonlySet<string>;
  #nextId: number;
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
    const files: IndexedFile[] = [];
    const name = `${Date.now().toString(36)}-${randomBytes(4).toString('hex')}.text`;
    const output = new IndexOutput(join(this.#folder, INDEX_FOLDER, name), this.#options.scheme);
    try {
      for (const path of filesBelow(this.#folder)) {
        const file = await this.#file(path, name, output);
        if (file !== null) files.push(file);
      }
      const made = output.finish(name);
      const used = new Set(files.flatMap(({ parts }) => parts.map(({ index }) => index)));
      const indexes = [...(this.#former?.indexes ?? []), ...(made === null ? [] : [made])].filter((index) =>
        used.has(index.name),
      );
      const { scheme, repack: repacked = false } = this.#options;
      if (!this.#isSame(files, indexes))
        writeManifest(this.#folder, { scheme, nextId: this.#nextId, repacked, indexes, files });
      removeOthers(join(this.#folder, INDEX_FOLDER), new Set(indexes.map((index) => index.name)));
      return this.#report(files, indexes);
    } catch (error) {
      output.discard();
      throw error;
    }
  }

  #isSame(files: readonly IndexedFile[], indexes: readonly IndexFile[]): boolean {
    const { files: before = [], indexes: indexesBefore = [] } = this.#former ?? {};
    return (
      JSON.stringify([files, indexes]) === JSON.stringify([before, indexesBefore]) && this.#former !== null
    );
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

  /** Repacks a gzip file. A file that cannot be repacked is indexed as it is. */
  async #repack(path: string): Promise<void> {
    const { onWarning, scheme } = this.#options;
    try {
      const result = await repackGzip(path, join(this.#folder, INDEX_FOLDER, 'gzip.repack'), scheme);
      if (result.outcome === 'repacked') this.#repacked++;
      else if (result.outcome === 'larger')
        onWarning?.(`${path} stays in one piece: with members it would be larger (${result.after} bytes)`);
    } catch (error) {
      if (!(error instanceof GzipError)) throw error;
      onWarning?.(`${path} was not repacked: ${error.message}`);
    }
  }

  async #file(path: string, index: string, output: IndexOutput): Promise<IndexedFile | null> {
    const { onWarning, repack } = this.#options;
    if (repack && !this.#isKept(path)) await this.#repack(path);
    let descriptor: number;
    try {
      descriptor = openSync(path, 'r');
    } catch (error) {
      onWarning?.(`${path} was left out: ${(error as Error).message}`);
      return null;
    }
    try {
      const name = relative(this.#folder, path).split(sep).join('/');
      const plan = this.#plan(descriptor, name);
      if (plan.action === 'keep') {
        if (plan.known.path !== name) this.#renamed++;
        return { ...plan.known, path: name };
      }
      return await this.#scan(descriptor, { name, plan, index, output });
    } catch (error) {
      if (!(error instanceof GzipError)) throw error;
      onWarning?.(`${path} was left out, and is read whole by each search: ${error.message}`);
      return null;
    } finally {
      closeSync(descriptor);
    }
  }

  /** Whether the former index has the file as it is now. Such a file was looked at before. */
  #isKept(path: string): boolean {
    const descriptor = openSync(path, 'r');
    try {
      const name = relative(this.#folder, path).split(sep).join('/');
      return this.#plan(descriptor, name).action === 'keep' && this.#former?.repacked === true;
    } finally {
      closeSync(descriptor);
    }
  }

  /** Decides by the former index. A file under another name is recognised by its inode. */
  #plan(descriptor: number, name: string): Plan {
    const { dev, ino } = statOf(descriptor);
    for (const known of [this.#byPath.get(name), this.#byInode.get(`${dev}:${ino}`)]) {
      if (known === undefined || known.parts.some(({ index }) => this.#stale.has(index))) continue;
      const change = changeOf(descriptor, known);
      if (change === 'same') return { action: 'keep', known };
      if (change === 'grown' && known.kind === 'plain') return { action: 'extend', known };
    }
    return { action: 'index' };
  }

  async #scan(
    descriptor: number,
    work: { name: string; plan: Plan; index: string; output: IndexOutput },
  ): Promise<IndexedFile> {
    const { name, plan, index, output } = work;
    const known = plan.action === 'extend' ? plan.known : null;
    const identity = identify(descriptor);
    const kind: FileKind = known === null ? kindOf(descriptor) : 'plain';
    const id = known?.id ?? this.#nextId++;
    const from = known?.last ?? { start: 0, lines: 0 };
    const builder = output.builder();
    builder.beginFile({ id, isGzip: kind === 'gzip', size: identity.size, ...from });
    try {
      for await (const bytes of this.#text(descriptor, {
        kind,
        from: from.start,
        size: identity.size,
        builder,
      }))
        builder.add(bytes);
    } catch (error) {
      // Blocks of a damaged file stay in the index, and no file of the list has their number.
      builder.endFile();
      throw error;
    }
    const { at, last } = builder.endFile();
    this.#indexed++;
    if (known !== null) this.#grown++;
    this.#textBytes += at - from.start;
    const kept = (known?.parts ?? []).map((part) => ({ ...part, to: Math.min(part.to, from.start) }));
    const parts = [...kept, { index, from: from.start, to: at }].filter((part) => part.to > part.from);
    return { ...identity, id, path: name, kind, last, parts };
  }

  async *#text(
    descriptor: number,
    { kind, from, size, builder }: { kind: FileKind; from: number; size: number; builder: BlockBuilder },
  ): AsyncGenerator<Uint8Array> {
    const { onProgress } = this.#options;
    if (kind === 'plain') {
      for (let at = from; at < size; ) {
        const bytes = readSome(descriptor, at, Math.min(PART, size - at));
        if (bytes.length === 0) return;
        yield bytes;
        at += bytes.length;
        onProgress?.(bytes.length);
      }
      return;
    }
    let done = 0;
    for await (const part of gzipParts(descriptor, 0, size)) {
      if (part.kind === 'data') yield part.bytes;
      else {
        builder.endMember(part.end);
        onProgress?.(part.end - done);
        done = part.end;
      }
    }
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

/** The new index file. It is created with the first block. */
class IndexOutput {
  readonly #path: string;
  readonly #scheme: GramScheme;
  readonly #id = randomBytes(16);
  #descriptor: number | null = null;
  #builder: BlockBuilder | null = null;

  constructor(path: string, scheme: GramScheme) {
    this.#path = path;
    this.#scheme = scheme;
  }

  builder(): BlockBuilder {
    if (this.#builder === null) {
      const descriptor = openSync(this.#path, 'wx');
      this.#descriptor = descriptor;
      this.#builder = new BlockBuilder({
        scheme: this.#scheme,
        id: this.#id,
        write: (bytes) => writeAll(descriptor, bytes),
      });
    }
    return this.#builder;
  }

  /** Flushes the file to the disk; null if there are no new blocks. */
  finish(name: string): IndexFile | null {
    if (this.#builder === null || this.#descriptor === null) return null;
    const { blocks } = this.#builder;
    const size = this.#builder.finish();
    fsyncSync(this.#descriptor);
    closeSync(this.#descriptor);
    this.#descriptor = null;
    syncDirectory(join(this.#path, '..'));
    return { name, id: this.#id.toString('hex'), size, blocks };
  }

  discard(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
    rmSync(this.#path, { force: true });
  }
}

/** The smaller index files, if there are too many. */
function staleIndexes(indexes: readonly IndexFile[]): ReadonlySet<string> {
  if (indexes.length < MOST_INDEXES) return new Set();
  const bySize = [...indexes].sort((a, b) => b.size - a.size);
  return new Set(bySize.slice(1).map(({ name }) => name));
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
