/**
 * Writes an arriving body into one of two tiers. The body begins in memory, unless it is known to
 * be too long for it. When it turns out to be too long (or when too many bodies arrive at once), it
 * moves: the disk takes over the spool with the bytes so far, and writes them to a file. Readers do
 * not notice, because they read the same spool as before.
 *
 * Without a disk (it failed), a long body passes through memory (spool.ts).
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import type { MemoryWriter } from '../memory/memory-writer.ts';
import { BodyError, type BodyReader, type BodyWriter, lengthError } from '../response-store.ts';
import type { Spool } from '../spool.ts';

/** The parts of the store that a writer needs. */
export interface TieredHome {
  readonly memory: MemoryStore;
  /**
   * A writer on the disk, which takes over `spool` if there is one. Undefined if there is no
   * working disk.
   */
  onDisk(expectedLength: number | undefined, spool?: Spool): BodyWriter | undefined;
  /** `body` is undefined if it passed through, so that it cannot be kept. */
  keepInMemory(response: StoredResponse, body: Uint8Array | undefined): Promise<boolean> | boolean;
  keepOnDisk(response: StoredResponse, spooled: BodyWriter): Promise<boolean>;
  diskFailed(error: Error): void;
}

export class TieredWriter implements BodyWriter {
  readonly #home: TieredHome;
  readonly #memory: MemoryWriter | undefined;
  #disk: BodyWriter | undefined;
  #ended = false;

  constructor(home: TieredHome, expectedLength: number | undefined) {
    this.#home = home;
    if (expectedLength !== undefined && expectedLength > home.memory.maxBodyBytes) {
      this.#disk = home.onDisk(expectedLength);
    }
    if (this.#disk === undefined) this.#memory = home.memory.create('', expectedLength);
  }

  get #writer(): BodyWriter {
    return this.#disk ?? this.#memory!;
  }

  get spool(): Spool {
    return this.#writer.spool;
  }

  get length(): number {
    return this.#writer.length;
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    const memory = this.#memory;
    if (this.#disk === undefined && !this.#ended && !memory!.fits(chunk.length) && !memory!.spool.passing) {
      this.#disk = this.#home.onDisk(undefined, memory!.spool);
    }
    return this.#writer.write(chunk)?.catch((error: Error) => {
      if (error instanceof BodyError && error.code === 'write-failed') this.#home.diskFailed(error);
      throw error;
    });
  }

  read(start?: number, end?: number): BodyReader {
    return this.#writer.read(start, end);
  }

  commit(response: StoredResponse): Promise<boolean> | boolean {
    if (this.#ended) return false;
    if (response.bodyLength !== this.length) {
      const error = lengthError(this.length, response);
      this.abort(error);
      throw error;
    }
    this.#ended = true;
    if (this.#disk !== undefined) return this.#home.keepOnDisk(response, this.#disk);
    return this.#home.keepInMemory(response, this.#memory!.finish());
  }

  endUnkept(): Promise<void> | void {
    if (this.#ended) return;
    this.#ended = true;
    return this.#writer.endUnkept();
  }

  abort(reason: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#writer.abort(reason);
  }
}
