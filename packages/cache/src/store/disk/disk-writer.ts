/**
 * Writes an arriving body to the disk, for readers that follow it.
 *
 * ```
 *   0 ........................ written ............. length
 *   in the temporary file      in memory (chunks)    not here yet
 * ```
 *
 * Chunks are kept as they came until there are 256 KiB of them. Then all whole blocks go to the
 * file in one call, with their checksums kept in memory (4 bytes for 64 KiB: 640 KB for a body of
 * 10 GB). A body that stays small therefore never becomes a file: `commit` puts it into the pack. A
 * reader reads from the file what is there (checked like any other read) and the rest from memory.
 * It moves at its own pace and delays no other. The writer and its readers share one descriptor,
 * which the last of them closes: a body that is committed, evicted or aborted meanwhile stays
 * readable for readers that have begun.
 *
 * A body that cannot be kept (longer than the store accepts, or without room) passes through: no
 * more goes to the file, chunks that all readers have passed are dropped, and the writer waits for
 * the slowest reader. Only in this case does a reader delay others.
 *
 * When the disk fails (for example because it is full), the write rejects, readers get the same
 * error, and the file is deleted.
 */

import { createHash, type Hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { BodyError, type BodyReader, type BodyWriter } from '../response-store.ts';
import { BLOCK_BYTES, blockChecksum, bodyFileBytes, bodyTrailer } from './bodies/body-file.ts';
import { FollowingReader } from './bodies/following-reader.ts';
import type { SharedFile } from './bodies/open-files.ts';
import { writeFully } from './file-io.ts';

/** Bytes kept in memory before they go to the file. */
const FLUSH_BYTES = 4 * BLOCK_BYTES;
/** Bytes held of a body that passes through. */
const WINDOW_BYTES = 4 * BLOCK_BYTES;
/**
 * More pieces than this are joined, so that a body that arrives in tiny pieces does not become a
 * list of a million of them.
 */
const MOST_PIECES = 256;

/** A complete body: small, in pieces, or in a temporary file. */
export type FinishedBody =
  | { readonly kind: 'inline'; readonly pieces: readonly Uint8Array[] }
  | { readonly kind: 'file'; readonly path: string; readonly digest: Uint8Array; readonly length: number };

/** The parts of the store that a writer needs. */
export interface WriterHome {
  readonly inlineBytes: number;
  readonly maxObjectBytes: number;
  /**
   * Reserves room for `bytes` more bytes in temporary files. Returns false if there is none, or
   * none without an eviction.
   */
  reserve(bytes: number, mayEvict: boolean): boolean | Promise<boolean>;
  /** The file is deleted, or has become a body of the store. */
  unreserve(bytes: number, mayEvict: boolean): void;
  openTemporary(): { readonly path: string; readonly file: SharedFile };
  keep(response: StoredResponse, body: FinishedBody): Promise<boolean>;
  /** Reads a body that was kept. */
  read(response: StoredResponse, start: number, end: number): BodyReader;
  refused(): void;
  /** The writer has ended, with or without success. */
  ended(writer: DiskWriter): void;
}

export class DiskWriter implements BodyWriter {
  readonly #home: WriterHome;
  readonly #mayEvict: boolean;
  length = 0;
  /** @internal Bytes in the file. */ written = 0;
  /** @internal */ checksums = new Uint32Array(16);
  /** @internal The first byte in memory. */ base = 0;
  /** @internal */ state: 'open' | 'ended' | 'failed' = 'open';
  /** @internal */ failure: BodyError | undefined;
  /** @internal */ file: SharedFile | undefined;
  #path: string | undefined;
  #hash: Hash | undefined;
  #digest: Uint8Array | undefined;
  #pieces: Uint8Array[] = [];
  #reserved = 0;
  #kept: StoredResponse | undefined;
  #letThrough = false;
  readonly #readers = new Set<FollowingReader>();
  #room: (() => void) | undefined;

  constructor(home: WriterHome, expectedLength: number | undefined, mayEvict = true) {
    this.#home = home;
    this.#mayEvict = mayEvict;
    this.#letThrough = expectedLength !== undefined && expectedLength > home.maxObjectBytes;
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.state !== 'open') {
      return Promise.reject(this.failure ?? new BodyError('aborted', 'The body has already ended'));
    }
    if (chunk.length === 0) return undefined;
    this.#pieces.push(chunk);
    this.length += chunk.length;
    if (this.length > this.#home.maxObjectBytes) this.#letThrough = true;
    if (this.#pieces.length > MOST_PIECES) this.#pieces = [Buffer.concat(this.#pieces)];
    this.#wake();
    if (this.#letThrough) return this.#waitForReaders();
    return this.length - this.base < FLUSH_BYTES ? undefined : this.#flush();
  }

  read(start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    if (!(start >= 0 && end >= start)) {
      throw new RangeError(`Expected 0 <= start <= end, got start ${start} and end ${end}`);
    }
    // A reader that arrives after the commit reads the stored body, like any other.
    if (this.#kept !== undefined && this.written > 0) return this.#home.read(this.#kept, start, end);
    return new FollowingReader(this, start, end);
  }

  async commit(response: StoredResponse): Promise<boolean> {
    if (response.bodyLength !== this.length) {
      const error = new RangeError(
        `Expected a response with a body of ${this.length} bytes, got one of ${response.bodyLength}`,
      );
      this.abort(error);
      throw error;
    }
    if (this.state !== 'open') return false;
    try {
      const body = await this.#finish();
      const kept = body !== undefined && (await this.#home.keep(response, body));
      if (kept) {
        this.#kept = response;
        this.#path = undefined;
      } else this.#home.refused();
      return kept;
    } finally {
      this.#discard();
    }
  }

  /**
   * The body is complete but must not be kept: its readers get all of it, and its file is deleted.
   */
  endUnkept(): void {
    if (this.state !== 'open') return;
    this.#end();
    this.#discard();
  }

  abort(reason: Error): void {
    if (this.state !== 'open') return;
    this.#fail(
      reason instanceof BodyError
        ? reason
        : new BodyError('aborted', `The body was aborted after ${this.length} bytes: ${reason.message}`, {
            cause: reason,
          }),
    );
  }

  /**
   * @internal The bytes in memory from `at` on, as far as they lie in one piece, or undefined if
   * there are none.
   */
  inMemory(at: number, end: number): Uint8Array | undefined {
    let from = this.base;
    for (const piece of this.#pieces) {
      if (at < from + piece.length) return piece.subarray(at - from, Math.min(piece.length, end - from));
      from += piece.length;
    }
    return undefined;
  }

  /** @internal */
  attach(reader: FollowingReader): void {
    this.#readers.add(reader);
  }

  /** @internal A reader has advanced, or left, so there may be room again. */
  moved(reader: FollowingReader, left: boolean): void {
    if (left) this.#readers.delete(reader);
    if (this.#letThrough && this.state === 'open' && this.#trim()) this.#makeRoom();
  }

  /** Writes the last bytes next to the first. Returns undefined if the body is not to be kept. */
  async #finish(): Promise<FinishedBody | undefined> {
    if (this.#letThrough) {
      this.#end();
      return undefined;
    }
    if (this.written === 0 && this.length <= this.#home.inlineBytes) {
      this.#end();
      return { kind: 'inline', pieces: this.#pieces };
    }
    try {
      if (!(await this.#append(this.length - this.base, true))) return undefined;
    } catch {
      // The readers get everything from memory; only the file is incomplete.
      return undefined;
    } finally {
      this.#end();
    }
    return { kind: 'file', path: this.#path!, digest: this.#digest!, length: this.length };
  }

  async #flush(): Promise<void> {
    const whole = Math.floor((this.length - this.base) / BLOCK_BYTES) * BLOCK_BYTES;
    try {
      if (await this.#append(whole, false)) return;
    } catch (error) {
      // An abort in the meantime has already set the failure.
      if (this.state !== 'open') throw this.failure!;
      const { message } = error as Error;
      this.#fail(
        new BodyError('write-failed', `Cannot write a body to the disk: ${message}`, { cause: error }),
      );
      throw this.failure;
    }
    this.#letThrough = true;
    await this.#waitForReaders();
  }

  /** Moves the first `count` bytes in memory to the file. Returns false if there is no room. */
  async #append(count: number, last: boolean): Promise<boolean> {
    const wanted = last ? bodyFileBytes(this.length) - this.#reserved : count;
    if (!(await this.#home.reserve(wanted, this.#mayEvict))) return false;
    if (this.state !== 'open') {
      this.#home.unreserve(wanted, this.#mayEvict);
      throw this.failure!;
    }
    this.#reserved += wanted;
    if (this.file === undefined) {
      const { path, file } = this.#home.openTemporary();
      this.#path = path;
      // Assigned only after it was opened, so that `#discard` releases it once.
      await file.opening;
      if (this.state !== 'open') {
        file.release();
        void rm(path, { force: true }).catch(() => {});
        throw this.failure!;
      }
      this.file = file;
      this.#hash = createHash('sha256');
    }
    const pieces = this.#first(count);
    this.#check(pieces);
    const { file } = this;
    // An abort during this write must not close the descriptor.
    file.retain();
    try {
      const rest = last ? [this.#seal()] : [];
      await writeFully(file.fd, [...pieces, ...rest], this.written);
    } finally {
      file.release();
    }
    if (this.state !== 'open') throw this.failure!;
    this.written += count;
    this.#drop(count);
    return true;
  }

  #seal(): Buffer {
    this.#digest = this.#hash!.digest();
    return bodyTrailer(
      this.length,
      this.#digest,
      this.checksums.subarray(0, Math.ceil(this.length / BLOCK_BYTES)),
    );
  }

  /** The first bytes in memory, as pieces. */
  #first(count: number): Uint8Array[] {
    const first: Uint8Array[] = [];
    for (const piece of this.#pieces) {
      if (count <= 0) break;
      first.push(piece.length <= count ? piece : piece.subarray(0, count));
      count -= piece.length;
    }
    return first;
  }

  /** Adds pieces, which begin at the start of a block, to the digest and the checksums. */
  #check(pieces: readonly Uint8Array[]): void {
    let at = this.written;
    let block = at / BLOCK_BYTES;
    let sum = block;
    for (const piece of pieces) {
      this.#hash!.update(piece);
      let from = 0;
      while (from < piece.length) {
        const to = Math.min(piece.length, from + BLOCK_BYTES - (at % BLOCK_BYTES));
        sum = blockChecksum(piece.subarray(from, to), sum);
        at += to - from;
        from = to;
        this.#note(block, sum);
        if (at % BLOCK_BYTES === 0) sum = ++block;
      }
    }
  }

  #note(block: number, sum: number): void {
    if (block === this.checksums.length) {
      const wide = new Uint32Array(2 * block);
      wide.set(this.checksums);
      this.checksums = wide;
    }
    this.checksums[block] = sum;
  }

  #drop(count: number): void {
    this.base += count;
    while (count > 0) {
      const piece = this.#pieces[0];
      if (piece.length > count) {
        this.#pieces[0] = piece.subarray(count);
        return;
      }
      count -= piece.length;
      this.#pieces.shift();
    }
  }

  /**
   * Drops bytes that all readers have passed, as far as the window requires. Returns whether the
   * rest fits.
   */
  #trim(): boolean {
    let needed = this.length;
    for (const reader of this.#readers) needed = Math.min(needed, reader.at);
    while (this.length - this.base > WINDOW_BYTES && this.base + this.#pieces[0].length <= needed) {
      this.#drop(this.#pieces[0].length);
    }
    return this.length - this.base <= WINDOW_BYTES;
  }

  #waitForReaders(): Promise<void> | undefined {
    if (this.#trim()) return undefined;
    return new Promise((resolve) => {
      this.#room = resolve;
    });
  }

  #makeRoom(): void {
    this.#room?.();
    this.#room = undefined;
  }

  #end(): void {
    if (this.state !== 'open') return;
    this.state = 'ended';
    this.#wake();
  }

  #fail(error: BodyError): void {
    this.state = 'failed';
    this.failure = error;
    this.#pieces = [];
    this.#wake();
    this.#makeRoom();
    this.#discard();
  }

  /**
   * Releases the writer's resources. The file is deleted, unless it has become a body of the store.
   */
  #discard(): void {
    this.file?.release();
    this.file = undefined;
    if (this.#path !== undefined) void rm(this.#path, { force: true }).catch(() => {});
    this.#path = undefined;
    this.#home.unreserve(this.#reserved, this.#mayEvict);
    this.#reserved = 0;
    this.#home.ended(this);
  }

  #wake(): void {
    for (const reader of this.#readers) reader.wake();
  }
}
