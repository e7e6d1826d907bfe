/**
 * Stores hashes until all keys have been counted, for keys from a pipe, which cannot be read twice.
 * It takes 8 bytes per key, in memory up to 64 MB and in a temporary file beyond.
 */

import { closeSync, mkdtempSync, openSync, readSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeAll } from '@bloomery/files';

export class HashSpool {
  readonly #parts: Int32Array[] = [];
  #inMemory = 0;
  #descriptor: number | undefined;
  #onDisk = 0;
  #count = 0;

  /** The number of stored hashes. */
  get count(): number {
    return this.#count;
  }

  add(words: Int32Array): void {
    this.#count += words.length / 2;
    if (this.#descriptor === undefined && this.#inMemory + words.byteLength > MOST_IN_MEMORY)
      this.#openFile();
    if (this.#descriptor === undefined) {
      this.#parts.push(words);
      this.#inMemory += words.byteLength;
      return;
    }
    writeAll(this.#descriptor, new Uint8Array(words.buffer, words.byteOffset, words.byteLength));
    this.#onDisk += words.byteLength;
  }

  /** Yields all hashes in order. */
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
    const path = join(folder, 'hashes');
    this.#descriptor = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    rmSync(folder, { recursive: true });
  }
}

const MOST_IN_MEMORY = 1 << 26;
const PART = 1 << 22;
