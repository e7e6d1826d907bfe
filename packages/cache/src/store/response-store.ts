/**
 * The interface of a store of responses, independent of where it keeps them. One contract suite
 * (`test/store/store-contract.ts`) runs on each implementation.
 *
 * A key has several responses when they vary by request fields; the policy chooses among them. A
 * body is written while it arrives from the origin. Many clients can read it from its first byte
 * on, each at its own pace (spool.ts): a slow reader reads the stored bytes later, and delays no
 * other. A response becomes visible when it is committed. A crash before that leaves nothing
 * behind; a crash after it loses nothing. Readers get exactly the bytes that were written: a store
 * on a medium that can decay checks bytes before it returns them.
 *
 * Results are returned at once if they are in memory, and as promises if a disk must be read: a hit
 * in memory must not wait for a turn of the event loop.
 */

import type { StoredResponse } from '../policy/stored-response.ts';
import type { KeyListener } from './key-listeners.ts';
import type { Spool } from './spool.ts';

/** Reads a body, or a range of it. */
export interface BodyReader {
  /**
   * The next bytes, never empty, or null at the end. Rejects with `BodyError` if the bytes are not
   * those that were written.
   */
  next(): Uint8Array | null | Promise<Uint8Array | null>;
  /**
   * Gives back bytes that `next` returned and that are no longer used, so that their memory can be
   * reused. It is optional for both sides: a caller that does not call it, or does not know for
   * certain (a write that failed), leaves the bytes to the garbage collector.
   */
  recycle?(bytes: Uint8Array): void;
  /** Releases all resources; may be called at any time, and more than once. */
  close(): void;
}

/** Writes a body that is arriving. */
export interface BodyWriter {
  /** Bytes written so far. */
  readonly length: number;
  /** The body for its readers; the writer decides what becomes of it. */
  readonly spool: Spool;
  /**
   * Writes bytes, which the caller must not change afterwards. If a promise is returned, await it
   * before the next call. Rejects when the disk fails or is full. If the spool is attended, the
   * bytes were taken all the same, and the body passes through from then on.
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /**
   * Reads the bytes from `start` to `end` (default: the end of the body), including those not
   * written yet. Rejects with `BodyError` if the body is aborted.
   */
  read(start?: number, end?: number): BodyReader;
  /**
   * The body is complete and `response` describes it (`bodyLength` is `length`): from now on `find`
   * returns it. `false` means that it is not kept (no room, not admitted); readers still get all of
   * it. Replaces the stored response of the same key with the same `varied`.
   */
  commit(response: StoredResponse): Promise<boolean> | boolean;
  /**
   * The body is complete but must not be kept: readers get all of it, and `find` never returns it.
   */
  endUnkept(): Promise<void> | void;
  /** The body will never be complete: waiting readers get a `BodyError`, and nothing is kept. */
  abort(reason: Error): void;
}

/** Facts about an arriving body that the caller knows, and wishes of a store in front. */
export interface BodyWishes {
  /**
   * SHA-256 of all bytes that were written so far, if the caller computes it anyway. A store that
   * needs that digest then calls this when the body is complete.
   */
  readonly digest?: () => Uint8Array;
  /**
   * If false, no stored response is evicted for this body while it arrives; without spare room it
   * passes through and is not kept. Default true.
   */
  readonly mayEvict?: boolean;
  /** An arriving body whose first bytes are in the store in front. The writer must take it over. */
  readonly spool?: Spool;
}

export interface ResponseStore {
  /** All stored responses of a key, newest first. */
  find(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]>;
  /**
   * The same, without counting a use: for callers that describe the store and serve no client.
   */
  peek(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]>;
  /**
   * The whole body, if it is in memory and can be returned without copying. Callers must not change
   * it.
   */
  bodyInMemory(response: StoredResponse): Uint8Array | undefined;
  /**
   * Reads the bytes `start` to `end` (exclusive) of a stored body. The response is one that `find`
   * returned. If it was removed since, `next` rejects.
   */
  read(response: StoredResponse, start?: number, end?: number): BodyReader;
  /**
   * A writer for an arriving body. `expectedLength` comes from Content-Length, if known; the key is
   * for admission.
   */
  create(key: string, expectedLength: number | undefined, wishes?: BodyWishes): BodyWriter;
  /**
   * Replaces the head after a validation and keeps the body. `false` if the response was removed
   * meanwhile.
   */
  refresh(old: StoredResponse, fresh: StoredResponse): Promise<boolean> | boolean;
  /**
   * Removes one response, or all of a key. Returns how many. Resolves only when they cannot
   * reappear after a crash.
   */
  remove(response: StoredResponse): Promise<number> | number;
  removeKey(key: string): Promise<number> | number;
  /**
   * Calls the listener for each key that begins or ceases to be stored, or whose responses change
   * (`key-listeners.ts`); summaries are built from this. Every change is reported, some of them
   * twice. Returns a function that stops it.
   */
  watch(listener: KeyListener): () => void;
  /**
   * All keys with a stored response, in no order. A key that is stored during the whole iteration
   * is returned; one whose response changes meanwhile may be returned twice. Rejects if a key
   * cannot be read.
   */
  keys(): Iterable<string> | AsyncIterable<string>;
  readonly statistics: StoreStatistics;
  /** Writes data that is only in memory and should last, and closes files. */
  close(): Promise<void>;
}

/** A store that can be below another one. */
export interface LowerStore extends ResponseStore {
  /**
   * Whether a response is stored under a key, answered at once. False is certain; true may rarely
   * be wrong. The result changes at the same moment at which listeners are called, so a caller that
   * uses both sees them agree.
   */
  has(key: string): boolean;
  /**
   * Removes the responses that `commit` of this response would replace: all of its key with the
   * same `varied`, and unreadable ones that may belong to it. Returns how many. It is decided and
   * done in one turn of the event loop, and resolves like `remove`.
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
  /** Bodies that were not admitted when first seen. */
  readonly refused: number;
  /** Responses that came from neighbours and are not this node's own yet, and their bytes. */
  readonly copies: number;
  readonly copyBytes: number;
}

/** The stored bytes are not those that were written, or are no longer available. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  readonly code: 'corrupt' | 'gone' | 'aborted' | 'read-failed' | 'write-failed';

  constructor(code: BodyError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The error of a commit whose response describes another body than the one that was written. */
export function lengthError(length: number, { bodyLength }: StoredResponse): RangeError {
  return new RangeError(
    `Cannot commit a body: expected a response with ${length} bytes, got one with ${bodyLength}`,
  );
}
