/**
 * Searches the index files of a folder, on a disk or on a server, and tells which parts of a file
 * must be read. An index file that cannot be read answers nothing: its files are read whole.
 */

import { errorCode } from '@bloomery/files';
import {
  type Extent,
  type RangeSource,
  type RequiredText,
  TextIndex,
  TextIndexError,
} from '@bloomery/stores/text';
import type { IndexedFile, IndexFile } from './index-manifest.ts';

/** The reason for which a file is read whole. */
export type WholeReason =
  | 'not indexed'
  | 'changed'
  | 'damaged index'
  | 'every block'
  | 'unknown age'
  | 'no ranges';

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

/** Sums over all folders of a search. */
export interface SearchCounts {
  blocks: number;
  candidates: number;
  indexBytes: number;
}

/** An index file that can be asked for ranges. */
export interface OpenIndex {
  readonly source: RangeSource;
  readonly close?: () => void;
}

export interface IndexSearchOptions {
  readonly text: RequiredText;
  readonly counts: SearchCounts;
  /** Opens an index file. It is closed before the next one is opened. */
  readonly open: (index: IndexFile) => OpenIndex | Promise<OpenIndex>;
  /** The reason to give for files whose index cannot be read, if it is not damage. */
  readonly reasonOf?: (error: unknown) => WholeReason;
}

export class IndexSearch {
  readonly #unreadable = new Map<string, WholeReason>();
  readonly #searched = new Set<string>();
  /** Index files that cannot rule out a block, because the text has no gram of their kind. */
  readonly #undecided = new Set<string>();
  readonly #extents = new Map<number, FoundExtent[]>();
  /** The fault of an index file, for one message; null if none has any. */
  problem: Error | null = null;
  /** The name of that index file. */
  problemName = '';

  private constructor() {}

  static async run(indexes: readonly IndexFile[], options: IndexSearchOptions): Promise<IndexSearch> {
    const search = new IndexSearch();
    for (const index of indexes) await search.#searchOne(index, options);
    return search;
  }

  /** Tells which parts of a file must be read. The file is the indexed one, or has grown since. */
  answer(file: IndexedFile, isGrown: boolean): FileAnswer {
    const unreadable = file.parts.map(({ index }) => this.#unreadable.get(index)).find((why) => why);
    if (unreadable !== undefined) return { read: 'all', why: unreadable };
    if (!isCovered(file) || file.parts.some(({ index }) => !this.#searched.has(index)))
      return { read: 'all', why: 'damaged index' };
    if (file.parts.some(({ index }) => this.#undecided.has(index)))
      return { read: 'all', why: 'every block' };
    const end = isGrown ? file.last.start : Number.POSITIVE_INFINITY;
    const extents = (this.#extents.get(file.id) ?? [])
      .filter(({ index, start }) =>
        file.parts.some(
          (part) => part.index === index && start >= part.from && start < Math.min(part.to, end),
        ),
      )
      .sort((a, b) => a.start - b.start);
    return { read: 'extents', extents, rest: isGrown ? file.last : null };
  }

  async #searchOne(file: IndexFile, { text, counts, open, reasonOf }: IndexSearchOptions): Promise<void> {
    const { name, id, size } = file;
    this.#searched.add(name);
    let opened: OpenIndex | null = null;
    try {
      opened = await open(file);
      const index = await TextIndex.open(opened.source);
      if (Buffer.from(index.id).toString('hex') !== id || opened.source.size !== size)
        throw new TextIndexError(
          'payload',
          16,
          'Cannot read a text index: expected the one of the list, got another',
        );
      counts.blocks += index.blocks;
      if (index.decides(text)) {
        const found = await index.search(text);
        counts.candidates += found.length;
        for (const { block, extents } of found)
          for (const extent of extents) this.#keep({ ...extent, index: name, block });
      } else {
        this.#undecided.add(name);
        counts.candidates += index.blocks;
      }
      counts.indexBytes += index.bytesRead;
    } catch (error) {
      if (!(error instanceof TextIndexError) && errorCode(error) === undefined) throw error;
      this.#unreadable.set(name, reasonOf?.(error) ?? 'damaged index');
      this.problem = error as Error;
      this.problemName = name;
    } finally {
      opened?.close?.();
    }
  }

  #keep(extent: FoundExtent): void {
    const list = this.#extents.get(extent.file) ?? [];
    this.#extents.set(extent.file, list);
    list.push(extent);
  }
}

/**
 * Whether the parts of a file follow one another from its first byte on, up to the last one where
 * that is known. A list with a gap would leave out text that no index has.
 */
function isCovered({ parts, kind, size }: IndexedFile): boolean {
  let at = 0;
  for (const { from, to } of parts) {
    if (from !== at || to < from) return false;
    at = to;
  }
  return kind !== 'plain' || at === size;
}
