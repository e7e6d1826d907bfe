/**
 * Asks the index of a folder which parts of its files may contain a text. A file that is not
 * indexed, that changed, or whose index is damaged gets the answer "all of it", with the reason.
 */

import { closeSync, fstatSync, openSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { errorCode } from '@bloomery/files';
import {
  type Extent,
  type RangeSource,
  type RequiredText,
  TextIndex,
  TextIndexError,
} from '@bloomery/stores/text';
import {
  INDEX_FOLDER,
  type IndexedFile,
  type IndexFile,
  type IndexManifest,
  ManifestError,
  readManifest,
} from './index-manifest.ts';
import { changeOf, readSome, statOf } from './text-file.ts';

/** The reason for which a file is read whole. */
export type WholeReason = 'not indexed' | 'changed' | 'damaged index' | 'every block';

/** An extent, with the index file and the block that it belongs to. */
export interface FoundExtent extends Extent {
  readonly index: string;
  readonly block: number;
}

export type FileAnswer =
  | { readonly read: 'all'; readonly why: WholeReason }
  | {
      readonly read: 'extents';
      /** In the order of the file. */
      readonly extents: readonly FoundExtent[];
      /** A log that has grown: its text from here on is not indexed. */
      readonly rest: { readonly start: number; readonly lines: number } | null;
    };

export interface SearchCounts {
  blocks: number;
  candidates: number;
  indexBytes: number;
}

export class FolderSearch {
  readonly #folder: string;
  readonly #manifest: IndexManifest | null;
  readonly #damaged: ReadonlySet<string>;
  readonly #undecided: ReadonlySet<string>;
  readonly #extents: ReadonlyMap<number, readonly FoundExtent[]>;
  readonly #byPath = new Map<string, IndexedFile>();
  readonly #byInode = new Map<string, IndexedFile>();
  readonly counts: SearchCounts;
  /** The fault of the index, for one message; null if it has none. */
  readonly problem: string | null;

  private constructor(folder: string, manifest: IndexManifest | null, found: Found) {
    this.#folder = folder;
    this.#manifest = manifest;
    this.#damaged = found.damaged;
    this.#undecided = found.undecided;
    this.#extents = found.extents;
    this.counts = found.counts;
    this.problem = found.problem;
    for (const file of manifest?.files ?? []) {
      this.#byPath.set(file.path, file);
      this.#byInode.set(file.inode.split(':').slice(0, 2).join(':'), file);
    }
  }

  static async open(folder: string, text: RequiredText): Promise<FolderSearch> {
    let manifest: IndexManifest | null = null;
    let problem: string | null = null;
    try {
      manifest = readManifest(folder);
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      problem = error.message;
    }
    const found = await search(folder, manifest?.indexes ?? [], text);
    return new FolderSearch(folder, manifest, { ...found, problem: problem ?? found.problem });
  }

  /** Tells which parts of an open file must be read. */
  answer(path: string, descriptor: number): FileAnswer {
    if (this.#manifest === null)
      return { read: 'all', why: this.problem === null ? 'not indexed' : 'damaged index' };
    const name = relative(this.#folder, path).split(sep).join('/');
    const { dev, ino } = statOf(descriptor);
    const known = [this.#byPath.get(name), this.#byInode.get(`${dev}:${ino}`)].filter(
      (file) => file !== undefined,
    );
    if (known.length === 0) return { read: 'all', why: 'not indexed' };
    for (const file of known) {
      const change = changeOf(descriptor, file);
      if (change === 'changed' || (change === 'grown' && file.kind !== 'plain')) continue;
      if (file.parts.some(({ index }) => this.#damaged.has(index)))
        return { read: 'all', why: 'damaged index' };
      if (file.parts.some(({ index }) => this.#undecided.has(index)))
        return { read: 'all', why: 'every block' };
      return this.#extentsOf(file, change === 'grown');
    }
    return { read: 'all', why: 'changed' };
  }

  #extentsOf(file: IndexedFile, grown: boolean): FileAnswer {
    const end = grown ? file.last.start : Number.POSITIVE_INFINITY;
    const extents = (this.#extents.get(file.id) ?? [])
      .filter(({ index, start }) =>
        file.parts.some(
          (part) => part.index === index && start >= part.from && start < Math.min(part.to, end),
        ),
      )
      .sort((a, b) => a.start - b.start);
    return { read: 'extents', extents, rest: grown ? file.last : null };
  }
}

interface Found {
  readonly damaged: ReadonlySet<string>;
  /** Index files that cannot rule out a block, because the text has no gram of their kind. */
  readonly undecided: ReadonlySet<string>;
  readonly extents: ReadonlyMap<number, readonly FoundExtent[]>;
  readonly counts: SearchCounts;
  readonly problem: string | null;
}

async function search(folder: string, indexes: readonly IndexFile[], text: RequiredText): Promise<Found> {
  const extents = new Map<number, FoundExtent[]>();
  const damaged = new Set<string>();
  const counts: SearchCounts = { blocks: 0, candidates: 0, indexBytes: 0 };
  let problem: string | null = null;
  const undecided = new Set<string>();
  for (const { name, id, size } of indexes) {
    const path = join(folder, INDEX_FOLDER, name);
    let descriptor: number | null = null;
    try {
      descriptor = openSync(path, 'r');
      const index = await TextIndex.open(fileRanges(descriptor));
      if (Buffer.from(index.id).toString('hex') !== id || fstatSync(descriptor).size !== size)
        throw new TextIndexError(
          'payload',
          16,
          'Cannot read a text index: expected the one of the list, got another',
        );
      counts.blocks += index.blocks;
      if (index.decides(text)) {
        const found = await index.search(text);
        counts.candidates += found.length;
        for (const candidate of found) {
          for (const extent of candidate.extents) {
            const list = extents.get(extent.file) ?? [];
            extents.set(extent.file, list);
            list.push({ ...extent, index: name, block: candidate.block });
          }
        }
      } else {
        undecided.add(name);
        counts.candidates += index.blocks;
      }
      counts.indexBytes += index.bytesRead;
    } catch (error) {
      if (!(error instanceof TextIndexError) && errorCode(error) === undefined) throw error;
      damaged.add(name);
      problem = `${path}: ${(error as Error).message}`;
    } finally {
      if (descriptor !== null) closeSync(descriptor);
    }
  }
  return { damaged, undecided, extents, counts, problem };
}

/** An open file as a port of ranges. */
function fileRanges(descriptor: number): RangeSource {
  return {
    size: fstatSync(descriptor).size,
    read: async (ranges) => ranges.map(({ offset, length }) => readSome(descriptor, offset, length)),
  };
}
