/**
 * Writes an arriving body into memory. The body is collected while it can be stored
 * (memory-backing.ts). Otherwise it passes through (spool.ts): its readers get all of it, and
 * `commit` returns false.
 *
 * A store with a disk calls `fits`, and moves the body to the disk before that happens.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import { type BodyReader, type BodyWriter, lengthError } from '../response-store.ts';
import { type ReaderTally, Spool } from '../spool.ts';
import { MemoryBacking, type PendingBodies } from './memory-backing.ts';

/** The parts of the store that a writer needs. */
export interface MemoryHolder extends ReaderTally, PendingBodies {
  put(response: StoredResponse, body: Uint8Array): boolean;
  refuse(response: StoredResponse): false;
}

export class MemoryWriter implements BodyWriter {
  readonly #holder: MemoryHolder;
  readonly #backing: MemoryBacking;
  readonly spool: Spool;

  constructor(holder: MemoryHolder, expectedLength: number | undefined, spool?: Spool) {
    this.#holder = holder;
    this.#backing = new MemoryBacking(holder);
    spool?.moveTo(this.#backing);
    this.spool = spool ?? new Spool(this.#backing, holder);
    if (expectedLength !== undefined && expectedLength > holder.maxBodyBytes) this.spool.letThrough();
  }

  get length(): number {
    return this.spool.length;
  }

  /** Whether `more` bytes can be written and the body can still be kept. */
  fits(more: number): boolean {
    return !this.spool.passing && this.#backing.fits(this.length + more);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.spool.push(chunk);
  }

  read(start?: number, end?: number): BodyReader {
    return this.spool.read(start, end);
  }

  commit(response: StoredResponse): boolean {
    if (!this.spool.open) return false;
    if (response.bodyLength !== this.length) {
      const error = lengthError(this.length, response);
      this.abort(error);
      throw error;
    }
    const body = this.finish();
    return body === undefined ? this.#holder.refuse(response) : this.#holder.put(response, body);
  }

  /**
   * Ends the body without storing it; readers get all of it. Returns the body, unless it passed
   * through or was aborted.
   */
  finish(): Uint8Array | undefined {
    if (!this.spool.open) return undefined;
    this.spool.end();
    this.spool.release();
    if (this.spool.passing) return undefined;
    this.#backing.dismiss();
    return this.spool.held.flatten();
  }

  endUnkept(): void {
    this.finish();
  }

  abort(reason: Error): void {
    this.spool.abort(reason);
    this.spool.release();
  }
}
