/**
 * A folder that is shared with one group: its index, its summary, and its answers to the questions
 * of the group's members. What leaves it are counts, and for documents of the index their paths,
 * sizes, times, object ids and snippets. No question names a path, so nothing outside the index can
 * be asked for.
 */

import type { Cancel, Clock, Transport } from '@bloomery/transport';
import type { HashScheme } from 'bloomery';
import { OwnSummary, type OwnSummaryOptions } from '../directory/own-summary.ts';
import { SearchError } from '../directory/search-error.ts';
import { type Answer, answerQuestion, type Question } from './decisions/answer-question.ts';
import { RateLimit, type RateOptions } from './decisions/rate-limit.ts';
import { FolderIndex, type IndexedDocument } from './terms/folder-index.ts';
import { snippetOf } from './terms/snippet.ts';
import {
  type FetchedDocument,
  readHolding,
  readWish,
  type Wish,
  writeDocuments,
  writePaths,
} from './wire/document-message.ts';
import { readQuestion, writeScores } from './wire/score-message.ts';

export const SCORE_TOPIC = 'share-score';
export const FETCH_TOPIC = 'share-fetch';
export const HOLDING_TOPIC = 'share-holding';

/** A file as it is indexed. */
export interface FolderDocument {
  /** The path below the folder, with `/`. */
  readonly path: string;
  /** The ending of the name in lower case; empty without one. */
  readonly type: string;
  readonly text: string;
  readonly bytes: number;
  /** The last change, in seconds since 1970. */
  readonly changed: number;
  /** The SHA-256 of the file in hex digits. */
  readonly digest: string;
}

export interface SharedFolderOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly scheme: HashScheme;
  /** The name of the folder, for people. */
  readonly label: string;
  /**
   * The text of a document now, for its snippet, or null if it is no longer the file that was
   * indexed. It must not reject.
   */
  readonly readText: (path: string) => Promise<string | null>;
  readonly summary?: Pick<OwnSummaryOptions, 'gatherMs' | 'heartbeatMs' | 'objectBits'> | undefined;
  /** Questions of one peer. Default 50 per second, and 200 at once. */
  readonly rate?: RateOptions | undefined;
}

interface FileFacts {
  readonly bytes: number;
  readonly changed: number;
  readonly digest: string;
}

const RATE: RateOptions = { perSecond: 50, burst: 200 };
const OBJECT_ID_DIGITS = 16;

export class SharedFolder {
  readonly index: FolderIndex;
  readonly summary: OwnSummary;
  readonly #options: SharedFolderOptions;
  readonly #rate: RateLimit;
  readonly #facts = new Map<string, FileFacts>();
  readonly #holders = new Map<string, Set<string>>();
  readonly #cancels: readonly Cancel[];
  /** Questions that were answered and refused, for the status. */
  readonly served = { scores: 0, fetches: 0, refused: 0 };

  constructor(options: SharedFolderOptions) {
    this.#options = options;
    const { transport, clock, scheme, label } = options;
    this.summary = new OwnSummary({ transport, clock, scheme, label, ...options.summary });
    this.index = new FolderIndex({ onKey: (key, isThere) => this.summary.setKey(key, isThere) });
    this.#rate = new RateLimit(options.rate ?? RATE);
    this.#cancels = [
      transport.serve(SCORE_TOPIC, (body, from) => {
        this.#admit(from);
        this.served.scores++;
        return writeScores(this.answer(readQuestion(body)));
      }),
      transport.serve(FETCH_TOPIC, async (body, from) => {
        this.#admit(from);
        this.served.fetches++;
        return writeDocuments(await this.fetch(readWish(body)));
      }),
      transport.serve(HOLDING_TOPIC, (body, from) => {
        this.#admit(from);
        return writePaths(this.pathsOf(Buffer.from(readHolding(body)).toString('hex')));
      }),
    ];
  }

  /** Adds a document, or replaces the one of its path. */
  put(document: FolderDocument): void {
    const { path, bytes, changed, digest } = document;
    const before = this.#facts.get(path);
    this.#facts.set(path, { bytes, changed, digest });
    // A file that was written again with the same content stays as it is indexed.
    if (before?.digest === digest) return;
    this.index.put(document);
    this.#hold(digest, path);
    if (before !== undefined) this.#letGo(before.digest, path);
  }

  remove(path: string): void {
    const before = this.#facts.get(path);
    if (before === undefined) return;
    this.index.remove(path);
    this.#facts.delete(path);
    this.#letGo(before.digest, path);
  }

  /** Answers a question about the folder. */
  answer(question: Question): Answer {
    return answerQuestion(this.index, question);
  }

  /** The documents of these handles that are still there. */
  async fetch({ handles, keys }: Wish): Promise<FetchedDocument[]> {
    const found: FetchedDocument[] = [];
    for (const handle of new Set(handles)) {
      const document = this.index.document(handle);
      if (document !== undefined) found.push(await this.#fetched(document, keys));
    }
    return found;
  }

  /** The paths of the files with a SHA-256, in hex digits. */
  pathsOf(digest: string): string[] {
    return [...(this.#holders.get(digest) ?? [])].sort();
  }

  close(): void {
    for (const cancel of this.#cancels) cancel();
    this.summary.close();
  }

  async #fetched({ handle, path }: IndexedDocument, keys: readonly string[]): Promise<FetchedDocument> {
    const { bytes, changed, digest } = this.#facts.get(path)!;
    const text = await this.#options.readText(path);
    // A file that is changing now is still found by its indexed text, and has no snippet.
    const snippet = snippetOf(text ?? '', keys);
    return { handle, path, bytes, changed, objectId: digest.slice(0, OBJECT_ID_DIGITS), snippet };
  }

  #admit(from: string): void {
    if (this.#rate.take(from, this.#options.clock.monotonic())) return;
    this.served.refused++;
    throw new SearchError('rate', `Cannot answer ${from}: expected fewer questions per second, got more`);
  }

  #hold(digest: string, path: string): void {
    const paths = this.#holders.get(digest) ?? new Set();
    this.#holders.set(digest, paths.add(path));
    this.summary.addObject(digest.slice(0, OBJECT_ID_DIGITS));
  }

  /** Notes that a path no longer has this content. */
  #letGo(digest: string, path: string): void {
    const paths = this.#holders.get(digest)!;
    paths.delete(path);
    if (paths.size === 0) this.#holders.delete(digest);
    this.summary.removeObject(digest.slice(0, OBJECT_ID_DIGITS));
  }
}
