/**
 * Writes an arriving body into memory. The body is collected while it may still be stored: while it
 * is not longer than the store accepts, and while all arriving bodies together are within their
 * limit. When either limit is exceeded, the body passes through (memory-body.ts): its readers get
 * all of it, and `commit` returns false.
 *
 * A store with a disk calls `fits`, and moves the body to the disk before that happens.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import type { BodyReader, BodyWriter } from '../response-store.ts';
import { MemoryBody, type ReaderTally } from './memory-body.ts';

/** The parts of the store that a writer needs. */
export interface MemoryHolder extends ReaderTally {
  pendingBytes: number;
  readonly maxPendingBytes: number;
  readonly maxBodyBytes: number;
  put(response: StoredResponse, body: Uint8Array): boolean;
  refuse(response: StoredResponse): false;
}

/** Bytes held of a body that passes through. */
const WINDOW_BYTES = 256 * 1024;

export class MemoryWriter implements BodyWriter {
  readonly #holder: MemoryHolder;
  readonly #body: MemoryBody;
  #keeping = true;

  constructor(holder: MemoryHolder, expectedLength: number | undefined) {
    this.#holder = holder;
    this.#body = new MemoryBody(holder);
    if (expectedLength !== undefined && expectedLength > holder.maxBodyBytes) this.#letThrough();
  }

  get length(): number {
    return this.#body.length;
  }

  /** Whether `more` bytes can be written and the body can still be kept. */
  fits(more: number): boolean {
    const { pendingBytes, maxPendingBytes, maxBodyBytes } = this.#holder;
    return this.#keeping && this.length + more <= maxBodyBytes && pendingBytes + more <= maxPendingBytes;
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#keeping && this.#body.open) {
      if (this.fits(chunk.length)) this.#holder.pendingBytes += chunk.length;
      else this.#letThrough();
    }
    return this.#body.push(chunk);
  }

  read(start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    return this.#body.read(start, end);
  }

  commit(response: StoredResponse): boolean {
    if (!this.#body.open) return false;
    if (response.bodyLength !== this.length) {
      const error = new RangeError(
        `Expected a response with a body of ${this.length} bytes, got one of ${response.bodyLength}`,
      );
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
    if (!this.#body.open) return undefined;
    this.#body.end();
    if (!this.#keeping) return undefined;
    this.#release();
    return this.#body.flatten();
  }

  endUnkept(): void {
    this.finish();
  }

  abort(reason: Error): void {
    this.#body.abort(reason);
    this.#release();
  }

  #letThrough(): void {
    this.#release();
    this.#body.letThrough(WINDOW_BYTES);
  }

  #release(): void {
    if (!this.#keeping) return;
    this.#keeping = false;
    this.#holder.pendingBytes -= this.length;
  }
}
