/**
 * A reader of a body on disk that collects the bytes, so that a body that is read completely can be
 * put into memory without reading it again. It also reports damaged bytes. A slow reader holds at
 * most one body that memory would accept anyway.
 */

import type { BodyReader } from '../response-store.ts';

export interface PromotingOptions {
  /** The length of the complete body, or undefined if nothing is collected. */
  readonly collect: number | undefined;
  whole(body: Uint8Array): void;
  failed(error: unknown): void;
}

export class PromotingReader implements BodyReader {
  readonly #reader: BodyReader;
  readonly #options: PromotingOptions;
  #chunks: Uint8Array[] | undefined;
  #length = 0;

  constructor(reader: BodyReader, options: PromotingOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#chunks = options.collect === undefined ? undefined : [];
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    const next = this.#reader.next();
    if (!(next instanceof Promise)) return this.#passed(next);
    return next.then(
      (chunk) => this.#passed(chunk),
      (error: unknown) => {
        this.#chunks = undefined;
        this.#options.failed(error);
        throw error;
      },
    );
  }

  /** Bytes that are or were collected for memory are not given back. */
  recycle(bytes: Uint8Array): void {
    if (this.#options.collect === undefined) this.#reader.recycle?.(bytes);
  }

  close(): void {
    this.#chunks = undefined;
    this.#reader.close();
  }

  #passed(chunk: Uint8Array | null): Uint8Array | null {
    if (this.#chunks === undefined) return chunk;
    if (chunk !== null) {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
      if (this.#length < this.#options.collect!) return chunk;
    }
    const chunks = this.#chunks;
    this.#chunks = undefined;
    if (this.#length === this.#options.collect) {
      this.#options.whole(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    }
    return chunk;
  }
}
