/**
 * The inverted index of a folder: for each term the documents that have it, and its places in each
 * of them, for phrases. It has no texts; the owner reads a file again for a snippet.
 *
 * Names are text as well: the words of a path come first, then, after a gap that no phrase bridges,
 * the words of the content. Two kinds of keys stand beside the terms. `name:word` is a word of the
 * path, and `type:md` the ending of the file. A term has no colon, so the three never meet.
 *
 * Documents come and go, and a change is one step: `put` replaces the document of the same path.
 * `onKey` tells which keys the folder has from now on and which it has lost, so a summary is kept
 * current at the cost of the changes.
 *
 * Memory. A posting is a small integer where a document has a term once, which is three of four
 * postings in the CACM collection, and a list otherwise.
 */

import { textTerms } from './text-terms.ts';

export interface DocumentSource {
  /** The path below the folder, with `/`. */
  readonly path: string;
  /** The ending of the name in lower case, such as `md`; empty without one. */
  readonly type: string;
  readonly text: string;
}

export interface IndexedDocument {
  /** A number that names the document for as long as its content stays. */
  readonly handle: number;
  readonly path: string;
  readonly type: string;
  /** The number of terms, those of the path among them. */
  readonly length: number;
  /** All keys of the document. */
  readonly keys: readonly string[];
}

/** The places of a term in one document: one, or several that rise. */
export type Places = number | readonly number[];

export interface FolderIndexOptions {
  /** Told when the first document with a key has come, and when the last one is gone. */
  readonly onKey?: ((key: string, isThere: boolean) => void) | undefined;
  /** The most terms of one document; the rest of its text is not indexed. Default 200,000. */
  readonly mostTerms?: number | undefined;
}

/** Places between the last word of the path and the first of the content. */
const GAP = 1000;
const MOST_TERMS = 200_000;
const NONE: ReadonlyMap<number, Places> = new Map();

export class FolderIndex {
  readonly #postings = new Map<string, Map<number, Places>>();
  readonly #documents = new Map<number, IndexedDocument>();
  readonly #paths = new Map<string, number>();
  readonly #onKey: (key: string, isThere: boolean) => void;
  readonly #mostTerms: number;
  #next = 0;

  constructor({ onKey = () => {}, mostTerms = MOST_TERMS }: FolderIndexOptions = {}) {
    this.#onKey = onKey;
    this.#mostTerms = mostTerms;
  }

  /** The number of documents. */
  get size(): number {
    return this.#documents.size;
  }

  /** The number of distinct keys. */
  get keyCount(): number {
    return this.#postings.size;
  }

  /** Adds a document, or replaces the one of the same path. */
  put({ path, type, text }: DocumentSource): IndexedDocument {
    const found = new Map<string, number | number[]>();
    const add = (key: string, place: number) => {
      const places = found.get(key);
      if (places === undefined) found.set(key, place);
      else if (typeof places === 'number') found.set(key, [places, place]);
      else places.push(place);
    };
    let length = 0;
    let last = 0;
    for (const { term, position, isWhole } of textTerms(path)) {
      add(term, position);
      if (!isWhole) add(`name:${term}`, position);
      last = position;
      length++;
    }
    const start = last + GAP;
    for (const { term, position } of textTerms(text)) {
      add(term, start + position);
      if (++length >= this.#mostTerms) break;
    }
    if (type !== '') add(`type:${type}`, 0);
    const before = this.#paths.get(path);
    const handle = this.#next++;
    const document = { handle, path, type, length: Math.max(1, length), keys: [...found.keys()] };
    for (const [key, places] of found) this.#post(key, handle, places);
    this.#documents.set(handle, document);
    this.#paths.set(path, handle);
    if (before !== undefined) this.#drop(before);
    return document;
  }

  /** Removes a document. Returns false if there is none of that path. */
  remove(path: string): boolean {
    const handle = this.#paths.get(path);
    if (handle === undefined) return false;
    this.#paths.delete(path);
    this.#drop(handle);
    return true;
  }

  document(handle: number): IndexedDocument | undefined {
    return this.#documents.get(handle);
  }

  documentAt(path: string): IndexedDocument | undefined {
    const handle = this.#paths.get(path);
    return handle === undefined ? undefined : this.#documents.get(handle);
  }

  documents(): Iterable<IndexedDocument> {
    return this.#documents.values();
  }

  keys(): Iterable<string> {
    return this.#postings.keys();
  }

  /** The documents that have a key, with its places. */
  postings(key: string): ReadonlyMap<number, Places> {
    return this.#postings.get(key) ?? NONE;
  }

  #post(key: string, handle: number, places: Places): void {
    const postings = this.#postings.get(key);
    if (postings !== undefined) {
      postings.set(handle, places);
      return;
    }
    this.#postings.set(key, new Map([[handle, places]]));
    this.#onKey(key, true);
  }

  #drop(handle: number): void {
    for (const key of this.#documents.get(handle)!.keys) {
      const postings = this.#postings.get(key)!;
      postings.delete(handle);
      if (postings.size > 0) continue;
      this.#postings.delete(key);
      this.#onKey(key, false);
    }
    this.#documents.delete(handle);
  }
}
