/**
 * What a store of responses does, whatever it is made of. One contract suite (`test/store/store-contract.ts`) runs on each.
 *
 * A key has several responses when they vary by request fields; the policy chooses among them. A body is written while it
 * comes from the origin, and can be read by many from its first byte on, each at its own pace: a slow reader reads later what
 * is in the store, and holds up nobody. `commit` is the moment from which others find it: before, a crash leaves nothing;
 * after, all of it. What is read is what was written: a store that keeps bytes where they can rot checks them before
 * it gives them out.
 *
 * Answers are given at once where they are in memory, and as promises where a disk must be asked: a hit in memory
 * must not wait for a turn of the event loop.
 */

import type { StoredResponse } from '../policy/stored-response.ts';

/** A body, from some byte to some other. */
export interface BodyReader {
  /** The next bytes, never empty; null: that was all. Rejects with `BodyError` if what comes is not what was written. */
  next(): Uint8Array | null | Promise<Uint8Array | null>;
  /**
   * These bytes, which `next` gave, are not needed any more by anybody: their memory may be used for others. Optional for both sides: whoever does
   * not call it, or was told nothing certain (a write that failed), leaves them to the garbage collector.
   */
  recycle?(bytes: Uint8Array): void;
  /** Gives up what is held; allowed at any time, and more than once. */
  close(): void;
}

/** A body on its way in. */
export interface BodyWriter {
  /** Bytes so far. */
  readonly length: number;
  /** Takes bytes, which the caller must not change any more. A promise: wait for it before the next. Rejects when the disk is full. */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** What was written from `start` on, and what will be, up to `end` (default: its end). Rejects with `BodyError` if it is aborted. */
  read(start?: number, end?: number): BodyReader;
  /**
   * The body is complete and `response` describes it (`bodyLength` is `length`): from now on it is found. `false`: not kept (no room,
   * not admitted); readers still get all of it. Replaces what is stored under the same key with the same `varied`.
   */
  commit(response: StoredResponse): Promise<boolean> | boolean;
  /** The body is complete but shall not be kept: readers get all of it, and nobody finds it. For a store in front of this one. */
  endUnkept?(): Promise<void> | void;
  /** It will never be complete: readers that wait get a `BodyError`, and nothing is kept. */
  abort(reason: Error): void;
}

/** What a store in front of this one wants of a body that comes. */
export interface BodyWishes {
  /** False: nothing that is stored goes for it while it comes; without room to spare it is let through, not kept. Default true. */
  readonly mayEvict?: boolean;
}

export interface ResponseStore {
  /** All that is stored for a key, newest first. */
  find(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]>;
  /** The whole body, if it is in memory and may be handed out as it is. Nobody changes it. */
  bodyInMemory(response: StoredResponse): Uint8Array | undefined;
  /** Bytes `start` to `end` (exclusive) of what is stored. The response is one that `find` gave, and may be gone since: then `next` rejects. */
  read(response: StoredResponse, start?: number, end?: number): BodyReader;
  /** A place for a body that comes. `expectedLength`: of Content-Length, if known; the key is for admission. */
  create(key: string, expectedLength: number | undefined, wishes?: BodyWishes): BodyWriter;
  /** The same body with a new head, after validation. `false`: it was gone meanwhile. */
  refresh(old: StoredResponse, fresh: StoredResponse): Promise<boolean> | boolean;
  /** Forgets one response, or all of a key. Gives how many. Resolved only when they cannot come back after a crash. */
  remove(response: StoredResponse): Promise<number> | number;
  removeKey(key: string): Promise<number> | number;
  /** Called for each key that begins or ceases to be stored: summaries are made of it. Returns how to stop. */
  watch(listener: (key: string, change: 'added' | 'removed') => void): () => void;
  /** All keys with something stored, in no order. One that is stored all the while is given; one whose response changes meanwhile perhaps twice. Rejects if one cannot be read. */
  keys(): Iterable<string> | AsyncIterable<string>;
  readonly statistics: StoreStatistics;
  /** Writes what is only in memory and should last, and lets go of files. */
  close(): Promise<void>;
}

/** A store that can be below another one. */
export interface LowerStore extends ResponseStore {
  /**
   * Whether something is stored under a key, answered at once: false is certain, true nearly. It changes in the moment in which listeners are
   * told, not before and not after: who decides by both sees them agree.
   */
  has(key: string): boolean;
  /**
   * Forgets what `commit` of this response would replace: all of its key with the same `varied`, and what cannot be read and may be of it. Gives how
   * many. Decided and done in one turn, and resolved like `remove`.
   */
  removeVariant(response: StoredResponse): Promise<number> | number;
}

export interface StoreStatistics {
  readonly responses: number;
  readonly bytes: number;
  readonly capacityBytes: number;
  readonly evictions: number;
  /** Bodies that were found damaged, and dropped. */
  readonly corrupt: number;
  /** Bodies that were not admitted at first sight. */
  readonly refused: number;
}

/** The stored bytes are not what was written, or cannot be had any more. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  readonly code: 'corrupt' | 'gone' | 'aborted' | 'read-failed' | 'write-failed';

  constructor(code: BodyError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
