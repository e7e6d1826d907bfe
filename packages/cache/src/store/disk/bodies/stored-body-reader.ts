/**
 * Reads a stored body: from the bytes that came with its head, or from its file, checked block by
 * block (body-file.ts).
 *
 * While the caller sends one piece the next is read, and pieces grow from 64 KiB to 2 MiB, so a
 * small body takes no more memory than its length. Large pieces are faster, because each read is a
 * round trip to another thread; their memory is reused when they are sent (lent-memory.ts). We
 * measured by hand, with `wrk`, through the whole node, four clients, 50 MB each, as a fraction of
 * what a bare Node server sends from memory: 0.12 with 64 KiB, 0.33 with 2 MiB of fresh memory, 0.6
 * to 0.7 when it is reused (0.51 in bench/results/cache.md). A thousand slow clients with two such
 * pieces each would hold four gigabytes. All readers together therefore have a budget, and with
 * many of them pieces are smaller.
 */

import { errorCode } from '@bloomery/files';
import { BodyError, type BodyReader } from '../../response-store.ts';
import { calledTwiceError, checkRange, closedError } from '../../spool-reader.ts';
import { BLOCK_BYTES, readChecked, readChecksums } from './body-file.ts';
import { giveBack } from './lent-memory.ts';
import type { SharedFile } from './open-files.ts';

const MOST_PIECE_BYTES = 32 * BLOCK_BYTES;
/** For all readers together: each has a piece being sent and one being read. */
const BUDGET_BYTES = 128 * 1024 * 1024;
/** Number of readers of files that have begun. */
let reading = 0;

function mostPieceBytes(): number {
  const share = Math.floor(BUDGET_BYTES / (2 * reading) / BLOCK_BYTES) * BLOCK_BYTES;
  return Math.max(BLOCK_BYTES, Math.min(MOST_PIECE_BYTES, share));
}

/** The source of a body. */
export type BodySource =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'file';
      readonly file: SharedFile;
      readonly length: number;
      readonly digest: Uint8Array;
      /** The body is damaged or missing and must be dropped. */
      damaged(error: BodyError): void;
    };

/** The checksums of an open file are read and checked once, not by each of its readers. */
const checksumsOf = new WeakMap<SharedFile, Promise<Uint32Array>>();

export class StoredBodyReader implements BodyReader {
  #find: (() => Promise<BodySource> | BodySource) | undefined;
  #source: BodySource | undefined;
  #checksums: Uint32Array | undefined;
  #at: number;
  readonly #end: number;
  #ahead: Promise<Uint8Array> | undefined;
  #piece = BLOCK_BYTES;
  #busy = false;
  /** Whether it is counted in `reading`. */
  #counted = false;
  #state: 'open' | 'finished' | 'closed' = 'open';

  /** `find` is called at the first `next`; it throws `BodyError` if the body is gone. */
  constructor(find: () => Promise<BodySource> | BodySource, start: number, end: number) {
    checkRange(start, end);
    this.#find = find;
    this.#at = start;
    this.#end = end;
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    if (this.#busy) return Promise.reject(calledTwiceError());
    if (this.#state === 'finished') return null;
    if (this.#state === 'closed') return Promise.reject(closedError());
    if (this.#source === undefined) {
      try {
        const found = this.#find!();
        if (found instanceof Promise) return this.#settle(found.then((source) => this.#begin(source)));
        this.#source = found;
      } catch (error) {
        return this.#settle(Promise.reject(error));
      }
    }
    return this.#source.kind === 'bytes'
      ? this.#rest(this.#source.bytes)
      : this.#settle(this.#fromFile(this.#source));
  }

  recycle(bytes: Uint8Array): void {
    giveBack(bytes);
  }

  close(): void {
    if (this.#state === 'open') this.#state = 'closed';
    this.#letGo();
  }

  #begin(source: BodySource): Uint8Array | null | Promise<Uint8Array | null> {
    this.#source = source;
    if (this.#state !== 'open') {
      this.#letGo();
      throw closedError();
    }
    return source.kind === 'bytes' ? this.#rest(source.bytes) : this.#fromFile(source);
  }

  #rest(bytes: Uint8Array): Uint8Array | null {
    const rest = this.#at === 0 && this.#end >= bytes.length ? bytes : bytes.subarray(this.#at, this.#end);
    this.#state = 'finished';
    this.#letGo();
    return rest.length === 0 ? null : rest;
  }

  async #fromFile(source: BodySource & { kind: 'file' }): Promise<Uint8Array | null> {
    try {
      this.#checksums ??= await this.#openFile(source);
      // The reader was closed meanwhile, so the descriptor may belong to another file by now.
      if (this.#state !== 'open') throw closedError();
      if (!this.#counted) {
        this.#counted = true;
        reading++;
      }
      const end = Math.min(this.#end, source.length);
      if (this.#at >= end) {
        this.#state = 'finished';
        this.#letGo();
        return null;
      }
      const bytes = await (this.#ahead ?? this.#read(source, end));
      if (this.#state !== 'open') throw closedError();
      this.#at += bytes.length;
      this.#ahead = undefined;
      if (this.#at < end) {
        this.#ahead = this.#read(source, end);
        this.#ahead.catch(() => {});
      }
      return bytes;
    } catch (error) {
      const failure = bodyError(error);
      if (this.#state === 'open' && failure.code !== 'read-failed') source.damaged(failure);
      throw failure;
    }
  }

  async #openFile(source: BodySource & { kind: 'file' }): Promise<Uint32Array> {
    const { file } = source;
    await file.opening;
    if (this.#state !== 'open') throw closedError();
    let checksums = checksumsOf.get(file);
    if (checksums === undefined) {
      file.retain();
      checksums = readChecksums(file.fd, source.length, source.digest).finally(() => file.release());
      checksumsOf.set(file, checksums);
    }
    return checksums;
  }

  async #read(source: BodySource & { kind: 'file' }, end: number): Promise<Uint8Array> {
    const at = this.#at;
    // A read goes up to the end of a block, so that no block is read twice.
    const to = Math.min(end, Math.floor(at / BLOCK_BYTES) * BLOCK_BYTES + this.#piece);
    this.#piece = Math.min(mostPieceBytes(), 2 * this.#piece);
    // A close during this read must not close the file.
    const file = source.file.retain();
    try {
      return await readChecked(file.fd, at, to, source.length, this.#checksums!);
    } finally {
      file.release();
    }
  }

  #settle(result: Promise<Uint8Array | null>): Promise<Uint8Array | null> {
    this.#busy = true;
    return result.then(
      (bytes) => {
        this.#busy = false;
        return bytes;
      },
      (error) => {
        this.#busy = false;
        this.close();
        throw bodyError(error);
      },
    );
  }

  #letGo(): void {
    const source = this.#source;
    if (this.#counted) {
      this.#counted = false;
      reading--;
    }
    this.#find = undefined;
    this.#source = undefined;
    if (source?.kind === 'file') source.file.release();
  }
}

function bodyError(error: unknown): BodyError {
  if (error instanceof BodyError) return error;
  const { message } = error as Error;
  if (errorCode(error) === 'ENOENT') {
    return new BodyError('gone', `Cannot read a body from the disk: its file is missing (${message})`, {
      cause: error,
    });
  }
  return new BodyError('read-failed', `Cannot read a body from the disk: ${message}`, { cause: error });
}
