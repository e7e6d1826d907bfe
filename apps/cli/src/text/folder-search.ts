/**
 * Asks the index of a folder on a disk which parts of its files may contain a text. A file that is
 * not indexed, that changed, or whose index is damaged gets the answer "all of it", with the
 * reason.
 */

import { closeSync, fstatSync, openSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { errorCode } from '@bloomery/files';
import type { RequiredText } from '@bloomery/stores/text';
import {
  INDEX_FOLDER,
  type IndexedFile,
  type IndexManifest,
  ManifestError,
  readManifest,
} from './index-manifest.ts';
import { type FileAnswer, IndexSearch, type OpenIndex, type SearchCounts } from './search-indexes.ts';
import { changeOf, kindOf, readInto, statOf } from './text-file.ts';

/** Attempts to read a list together with the index files that it names. */
const MOST_ATTEMPTS = 3;

export class FolderSearch {
  readonly #folder: string;
  readonly #manifest: IndexManifest | null;
  readonly #search: IndexSearch;
  readonly #byPath = new Map<string, IndexedFile>();
  readonly #byInode = new Map<string, IndexedFile>();
  /** The fault of the index, for one message; null if it has none. */
  readonly problem: string | null;

  private constructor(
    folder: string,
    manifest: IndexManifest | null,
    found: { search: IndexSearch; problem: string | null },
  ) {
    this.#folder = folder;
    this.#manifest = manifest;
    this.#search = found.search;
    this.problem = found.problem;
    for (const file of manifest?.files ?? []) {
      this.#byPath.set(file.path, file);
      this.#byInode.set(file.inode.split(':').slice(0, 2).join(':'), file);
    }
  }

  static async open(folder: string, text: RequiredText, counts: SearchCounts): Promise<FolderSearch> {
    for (let attempt = 1; ; attempt++) {
      const own = { blocks: 0, candidates: 0, indexBytes: 0 };
      const search = await FolderSearch.#openOnce(folder, text, own);
      // Another process may have renewed the index between the list and the index files of it.
      const isGone = errorCode(search.#search.problem) === 'ENOENT';
      if (isGone && attempt < MOST_ATTEMPTS) continue;
      counts.blocks += own.blocks;
      counts.candidates += own.candidates;
      counts.indexBytes += own.indexBytes;
      return search;
    }
  }

  static async #openOnce(folder: string, text: RequiredText, counts: SearchCounts): Promise<FolderSearch> {
    let manifest: IndexManifest | null = null;
    let problem: string | null = null;
    try {
      manifest = readManifest(folder);
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      problem = error.message;
    }
    const search = await IndexSearch.run(manifest?.indexes ?? [], {
      text,
      counts,
      open: ({ name }) => openIndex(join(folder, INDEX_FOLDER, name)),
    });
    if (search.problem !== null)
      problem = `${join(folder, INDEX_FOLDER, search.problemName)}: ${search.problem.message}`;
    return new FolderSearch(folder, manifest, { search, problem });
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
    const kind = kindOf(descriptor);
    for (const file of known) {
      // An index of a version that did not know a packing has its bytes, not its text.
      if (file.kind !== kind) continue;
      const change = changeOf(descriptor, file);
      if (change === 'changed' || (change === 'grown' && file.kind !== 'plain')) continue;
      return this.#search.answer(file, change === 'grown');
    }
    return { read: 'all', why: 'changed' };
  }
}

/** An index file on a disk as a port of ranges. */
function openIndex(path: string): OpenIndex {
  const descriptor = openSync(path, 'r');
  return {
    source: {
      size: fstatSync(descriptor).size,
      read: async (ranges) => {
        // One piece of memory: a search in a large index reads thousands of rows.
        const memory = new ArrayBuffer(ranges.reduce((sum, { length }) => sum + length, 0));
        let at = 0;
        return ranges.map(({ offset, length }) => {
          at += length;
          return readInto(descriptor, new Uint8Array(memory, at - length, length), offset);
        });
      },
    },
    close: () => closeSync(descriptor),
  };
}
