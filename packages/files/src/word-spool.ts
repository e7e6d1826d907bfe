/**
 * Stores 32-bit words until all input has been read, for data from a pipe, which cannot be read
 * twice: hashes of keys that must be counted first, or requests that several simulations replay.
 * The words are in memory up to 64 MB and in a temporary file beyond, so memory is bounded.
 */

import { closeSync, mkdtempSync, openSync, readSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeAll } from './descriptor-bytes.ts';

export class WordSpool {
  readonly #mostInMemory: number;
  readonly #parts: Int32Array[] = [];
  #inMemory = 0;
  #descriptor: number | undefined;
  #onDisk = 0;
  #count = 0;

  /** `mostInMemory` is the number of bytes beyond which the rest goes to a file. */
  constructor({ mostInMemory = MOST_IN_MEMORY }: { mostInMemory?: number } = {}) {
    this.#mostInMemory = mostInMemory;
  }

  /** The number of stored words. */
  get count(): number {
    return this.#count;
  }

  /** Appends words. The spool keeps the array, so the caller does not write to it again. */
  add(words: Int32Array): void {
    this.#count += words.length;
    if (this.#descriptor === undefined && this.#inMemory + words.byteLength > this.#mostInMemory)
      this.#openFile();
    if (this.#descriptor === undefined) {
      this.#parts.push(words);
      this.#inMemory += words.byteLength;
      return;
    }
    writeAll(this.#descriptor, new Uint8Array(words.buffer, words.byteOffset, words.byteLength));
    this.#onDisk += words.byteLength;
  }

  /**
   * Yields all words in order. Words from the file come in parts of 4 MiB, so a record of 2^n bytes
   * is never cut in two.
   */
  *parts(): Generator<Int32Array> {
    yield* this.#parts;
    for (let at = 0; at < this.#onDisk; at += PART) {
      const bytes = new Uint8Array(Math.min(PART, this.#onDisk - at));
      for (let got = 0; got < bytes.length; ) {
        got += readSync(this.#descriptor!, bytes, got, bytes.length - got, at + got);
      }
      yield new Int32Array(bytes.buffer);
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /**
   * Opens a temporary file and removes its name at once, so that nothing is left behind however
   * this process ends.
   */
  #openFile(): void {
    const folder = mkdtempSync(join(tmpdir(), 'bloomery-'));
    const path = join(folder, 'words');
    this.#descriptor = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    rmSync(folder, { recursive: true });
  }
}

const MOST_IN_MEMORY = 1 << 26;
const PART = 1 << 22;
