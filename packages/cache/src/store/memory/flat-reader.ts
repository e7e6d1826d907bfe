/**
 * Readers of bodies that are complete: one that has its bytes in memory, and one whose bytes are
 * gone.
 */

import { BodyError, type BodyReader } from '../response-store.ts';
import type { ReaderTally } from '../spool.ts';
import { checkRange, closedError } from '../spool-reader.ts';

/**
 * Reads from a complete body. It holds the bytes, so they stay readable even if the entry is
 * removed.
 */
export class FlatReader implements BodyReader {
  #bytes: Uint8Array | undefined;
  #finished = false;
  readonly #tally: ReaderTally;

  constructor(bytes: Uint8Array, tally: ReaderTally, start: number, end: number) {
    checkRange(start, end);
    this.#bytes = start === 0 && end >= bytes.length ? bytes : bytes.subarray(start, end);
    this.#tally = tally;
    tally.readers++;
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    const bytes = this.#bytes;
    if (bytes === undefined) return this.#finished ? null : Promise.reject(closedError());
    this.#finished = true;
    this.close();
    return bytes.length === 0 ? null : bytes;
  }

  close(): void {
    if (this.#bytes === undefined) return;
    this.#bytes = undefined;
    this.#tally.readers--;
  }
}

/** A reader of a body that is not stored. */
export class GoneReader implements BodyReader {
  readonly #what: string;

  constructor(what: string) {
    this.#what = what;
  }

  next(): Promise<null> {
    return Promise.reject(
      new BodyError('gone', `Cannot read the body of ${this.#what}: it is not stored any more`),
    );
  }

  close(): void {}
}
