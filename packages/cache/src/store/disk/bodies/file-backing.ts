/**
 * Keeps an arriving body in a temporary file, which later becomes the file of the stored body
 * (body-file.ts).
 *
 * Chunks stay in memory as they came until there are 256 KiB of them. Then all whole blocks go to
 * the file in one call, with their checksums kept in memory (4 bytes for 64 KiB: 640 KB for a body
 * of 10 GB). A body that stays small therefore never becomes a file. Bytes are read back checked,
 * like those of any stored body.
 *
 * The writer and its readers share one descriptor, which is closed when all of them have left: a
 * body that is committed, evicted or aborted meanwhile stays readable for readers that have begun.
 */

import { createHash, type Hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { ChunkList } from '../../chunk-list.ts';
import { BodyError } from '../../response-store.ts';
import type { Backing } from '../../spool.ts';
import { writeFully } from '../file-io.ts';
import { BLOCK_BYTES, blockChecksum, bodyFileBytes, bodyTrailer, readChecked } from './body-file.ts';
import type { SharedFile } from './open-files.ts';

/** Bytes kept in memory before they go to the file. */
const FLUSH_BYTES = 4 * BLOCK_BYTES;
/** Maximum bytes per read of the file. */
const READ_BYTES = 4 * BLOCK_BYTES;

/** The parts of the store that a file needs. */
export interface FileHome {
  readonly maxObjectBytes: number;
  /**
   * Reserves room for `bytes` more bytes in temporary files. Returns false if there is none, or
   * none without an eviction.
   */
  reserve(bytes: number, mayEvict: boolean): boolean | Promise<boolean>;
  /** The file is deleted, or has become a body of the store. */
  unreserve(bytes: number, mayEvict: boolean): void;
  /** A write of `bytes` bytes failed. */
  writeFailed(error: unknown, bytes: number): void;
  openTemporary(): { readonly path: string; readonly file: SharedFile };
}

/** A complete body in a temporary file. */
export interface FinishedFile {
  readonly kind: 'file';
  readonly path: string;
  readonly digest: Uint8Array;
  readonly length: number;
}

export class FileBacking implements Backing {
  /** Bytes in the file. */
  end = 0;
  readonly #home: FileHome;
  readonly #mayEvict: boolean;
  #file: SharedFile | undefined;
  #path: string | undefined;
  #reserved = 0;
  /** SHA-256 of the whole body, if another part of the program computes it. */
  readonly #digest: (() => Uint8Array) | undefined;
  #hash: Hash | undefined;
  #checksums = new Uint32Array(16);
  #dismissed = false;

  constructor(home: FileHome, mayEvict: boolean, digest?: () => Uint8Array) {
    this.#home = home;
    this.#mayEvict = mayEvict;
    this.#digest = digest;
  }

  admit(length: number): boolean {
    return length <= this.#home.maxObjectBytes;
  }

  settle(held: ChunkList): Promise<boolean> | undefined {
    const count = held.end - held.start;
    if (count < FLUSH_BYTES) return undefined;
    const whole = Math.floor(count / BLOCK_BYTES) * BLOCK_BYTES;
    return this.#append(held, whole, undefined).catch((error: unknown) => {
      const { message } = error as Error;
      throw new BodyError('write-failed', `Cannot write a body to the disk: ${message}`, { cause: error });
    });
  }

  /**
   * Writes the last bytes and the checksums. Returns undefined if there is no room; rejects if the
   * file cannot be written.
   */
  async finish(held: ChunkList): Promise<FinishedFile | undefined> {
    const length = held.end;
    const seal = bodyFileBytes(length) - length;
    let digest: Uint8Array | undefined;
    const trailer = (): Buffer[] => {
      digest = this.#digest?.() ?? this.#hash!.digest();
      return [bodyTrailer(length, digest, this.#checksums.subarray(0, Math.ceil(length / BLOCK_BYTES)))];
    };
    const kept = await this.#append(held, length - held.start, { bytes: seal, make: trailer });
    return kept ? { kind: 'file', path: this.#path!, digest: digest!, length } : undefined;
  }

  async read(at: number, end: number): Promise<Uint8Array> {
    const file = this.#file?.retain();
    if (file === undefined)
      throw new BodyError('gone', 'Cannot read a body: expected an open file, got a closed one');
    try {
      // While it is being written, the file ends with a whole block. A read ends there as well, so
      // that no block is read twice.
      const to = Math.min(end, Math.floor(at / BLOCK_BYTES) * BLOCK_BYTES + READ_BYTES);
      return await readChecked(file.fd, at, to, this.end, this.#checksums);
    } catch (error) {
      if (error instanceof BodyError) throw error;
      const { message } = error as Error;
      throw new BodyError('read-failed', `Cannot read a body from the disk: ${message}`, { cause: error });
    } finally {
      file.release();
    }
  }

  dismiss(): void {
    this.#dismissed = true;
  }

  /**
   * Gives up the file, unless it has become a body of the store. Its bytes stay readable until
   * `close`.
   */
  discard(kept: boolean): void {
    this.#dismissed = true;
    if (!kept && this.#path !== undefined) remove(this.#path);
    this.#path = undefined;
    this.#home.unreserve(this.#reserved, this.#mayEvict);
    this.#reserved = 0;
  }

  close(): void {
    this.#file?.release();
    this.#file = undefined;
  }

  /** Moves the first `count` bytes in memory to the file. Returns false if there is no room. */
  async #append(
    held: ChunkList,
    count: number,
    seal: { readonly bytes: number; make(): Buffer[] } | undefined,
  ): Promise<boolean> {
    const wanted = count + (seal?.bytes ?? 0);
    if (!(await this.#home.reserve(wanted, this.#mayEvict))) return false;
    if (this.#dismissed) {
      this.#home.unreserve(wanted, this.#mayEvict);
      throw givenUpError();
    }
    this.#reserved += wanted;
    try {
      await this.#write(held, count, seal);
    } catch (error) {
      this.#home.writeFailed(error, wanted);
      throw error;
    }
    if (this.#dismissed) throw givenUpError();
    this.end += count;
    held.drop(count);
    return true;
  }

  async #write(held: ChunkList, count: number, seal: { make(): Buffer[] } | undefined): Promise<void> {
    const file = (this.#file ?? (await this.#open())).retain();
    // An abort during this write must not close the descriptor.
    try {
      const pieces = held.first(count);
      this.#check(pieces);
      await writeFully(file.fd, seal === undefined ? pieces : [...pieces, ...seal.make()], this.end);
    } finally {
      file.release();
    }
  }

  async #open(): Promise<SharedFile> {
    const { path, file } = this.#home.openTemporary();
    await file.opening;
    if (this.#dismissed) {
      file.release();
      remove(path);
      throw givenUpError();
    }
    this.#path = path;
    this.#file = file;
    if (this.#digest === undefined) this.#hash = createHash('sha256');
    return file;
  }

  /** Adds pieces, which begin at the start of a block, to the digest and the checksums. */
  #check(pieces: readonly Uint8Array[]): void {
    let at = this.end;
    let block = at / BLOCK_BYTES;
    let sum = block;
    for (const piece of pieces) {
      this.#hash?.update(piece);
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
    if (block === this.#checksums.length) {
      const wide = new Uint32Array(2 * block);
      wide.set(this.#checksums);
      this.#checksums = wide;
    }
    this.#checksums[block] = sum;
  }
}

function givenUpError(): Error {
  return new Error('Cannot write a body: it was given up');
}

function remove(path: string): void {
  void rm(path, { force: true }).catch(() => {});
}
