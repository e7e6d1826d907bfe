/**
 * A Bloom filter in a file, asked and filled without loading it: for filters that are larger than
 * memory, or that a program needs for a few keys only. It reads the pages that keys touch, keeps
 * them, and forgets them when there are too many.
 *
 * What it promises. Answers and bytes are those of `BloomFilter` or `BlockedBloomFilter` with the
 * same keys. Additions reach the file at `commit`, all of them or none, even if the process is
 * killed meanwhile (journal/page-journal.ts). `close` without `commit` discards them. One process
 * writes at a time: opening for writing takes the lock of the file and holds it until `close`.
 * Readers need no lock. Bits are only ever set, so a reader that meets a half-written page sees
 * some of the new keys and all of the old ones. It keeps what it has read; `refresh` forgets it.
 *
 * What it costs. A key touches k pages of a classic filter and one of a blocked one, 4 kB each. A
 * lookup that finds its pages in memory makes no system call. `BlockedBloomFilter` is the structure
 * to put into a file.
 *
 * What it does not do: verify the checksum of the whole file, which would read all of it
 * (`bloomery verify` does that), or make a file. Write one with `encode`, `frameChunks` or
 * `bloomery build`.
 */

import type { Key, KeyBatch, SecretKey } from 'bloomery';
import { placeOf, recoverFile, settle } from '../journal/journal-recovery.ts';
import { type FileLock, lockFile } from '../lock/file-lock.ts';
import { PagedFrame } from './paged-frame.ts';

export interface PagedFilterOptions {
  /** The secret key of a keyed filter. */
  readonly key?: SecretKey | undefined;
  /** Opens the file for additions, under its lock. Default false. */
  readonly writable?: boolean | undefined;
  /** How long to wait for another writer. Default 10 s. */
  readonly waitMs?: number | undefined;
  /** The most pages of 4 kB to keep in memory. Default 16,384, that is 64 MiB. */
  readonly maxPages?: number | undefined;
  /** Ends the wait: the promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export class PagedFilter {
  readonly #frame: PagedFrame;
  readonly #lock: FileLock | undefined;
  #open = true;

  private constructor(frame: PagedFrame, lock: FileLock | undefined) {
    this.#frame = frame;
    this.#lock = lock;
  }

  /**
   * Opens a file with a plain frame of a Bloom filter or a blocked one. A change that a crash
   * interrupted is finished first. Rejects with a `FrameError` for any other file.
   */
  static async open(path: string, options: PagedFilterOptions = {}): Promise<PagedFilter> {
    const { key, writable = false, waitMs = 10_000, maxPages = 16_384, signal } = options;
    if (!(maxPages >= 1)) {
      throw new RangeError(`Cannot use maxPages: expected at least 1, got ${maxPages}`);
    }
    const place = placeOf(path) ?? path;
    if (!writable) {
      await recoverFile(path, { waitMs, signal });
      return new PagedFilter(PagedFrame.open(place, { key, maxPages, readOnly: true }), undefined);
    }
    const lock = await lockFile(place, { waitMs, signal });
    try {
      settle(place);
      return new PagedFilter(PagedFrame.open(place, { key, maxPages }), lock);
    } catch (error) {
      lock?.release();
      throw error;
    }
  }

  /** The structure in the file, with its parameters. */
  get layout(): PagedFrame['layout'] {
    return this.#frame.layout;
  }

  /** The number of pages in memory. */
  get pagesHeld(): number {
    return this.#frame.pagesRead;
  }

  /** True if the key may have been added, false if it certainly was not. */
  has(key: Key): boolean {
    return this.hasMany([key])[0] === 1;
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    this.#check();
    return this.#frame.hasMany(keys);
  }

  /** Adds a key. Returns true if it was certainly absent before. */
  add(key: Key): boolean {
    return this.addMany([key]) === 1;
  }

  /**
   * Adds many keys. Returns how many were certainly absent before. They are in memory until
   * `commit`; a batch whose changed pages do not fit there is refused, and nothing of it is added.
   */
  addMany(keys: KeyBatch): number {
    this.#check();
    if (this.#lock === undefined) {
      throw new TypeError('Cannot add keys: expected a filter opened with writable: true, got one without');
    }
    const fresh = this.#frame.addMany(keys, true);
    if (fresh !== undefined) return fresh;
    throw new RangeError(
      `Cannot add keys: expected at most ${this.#frame.maxPages} pages to change, got more (commit more often, or open with a larger maxPages)`,
    );
  }

  /** Writes all additions to the file, or none. Returns the number of bytes written. */
  commit(): number {
    this.#check();
    const bytes = this.#frame.commit();
    this.#frame.goOn();
    return bytes;
  }

  /** Forgets the pages that were read and not changed, so that additions of others are seen. */
  refresh(): void {
    this.#frame.forget();
  }

  /** Closes the file and gives the lock back. Additions since the last `commit` are lost. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#frame.close();
    this.#lock?.release();
  }

  #check(): void {
    if (!this.#open) {
      throw new TypeError(`Cannot use ${this.#frame.place}: expected an open filter, got a closed one`);
    }
  }
}
