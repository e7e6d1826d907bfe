/**
 * Writes an arriving body to the disk, for readers that follow it. It is a spool (spool.ts) with a
 * file behind it (file-backing.ts). A body that stays small never becomes a file: `commit` puts it
 * into the pack.
 *
 * When the disk fails (for example because it is full), the write rejects. A spool that is attended
 * goes on without the disk: it passes through, and its readers get every byte. Any other body is
 * here only to be stored, so it is aborted: its readers get the same error, and the file is
 * deleted.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import { type BodyReader, type BodyWishes, type BodyWriter, lengthError } from '../response-store.ts';
import { Spool } from '../spool.ts';
import { FileBacking, type FileHome, type FinishedFile } from './bodies/file-backing.ts';

/** A complete body: small, in pieces, or in a temporary file. */
export type FinishedBody = { readonly kind: 'inline'; readonly pieces: readonly Uint8Array[] } | FinishedFile;

/** The parts of the store that a writer needs. */
export interface WriterHome extends FileHome {
  readonly inlineBytes: number;
  keep(response: StoredResponse, body: FinishedBody): Promise<boolean>;
  /** Reads a body that was kept. */
  read(response: StoredResponse, start: number, end: number): BodyReader;
  refused(): void;
  /** The writer has ended, with or without success. */
  ended(writer: DiskWriter): void;
}

export class DiskWriter implements BodyWriter {
  readonly #home: WriterHome;
  readonly #backing: FileBacking;
  readonly spool: Spool;
  #kept: StoredResponse | undefined;
  #over = false;

  constructor(
    home: WriterHome,
    expectedLength: number | undefined,
    { mayEvict = true, spool, digest }: BodyWishes = {},
  ) {
    this.#home = home;
    this.#backing = new FileBacking(home, mayEvict, digest);
    spool?.moveTo(this.#backing);
    this.spool = spool ?? new Spool(this.#backing);
    if (expectedLength !== undefined && expectedLength > home.maxObjectBytes) this.spool.letThrough();
  }

  get length(): number {
    return this.spool.length;
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.spool.push(chunk)?.catch((error: Error) => {
      if (!this.spool.attended) this.abort(error);
      throw error;
    });
  }

  read(start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    // A reader that arrives after the commit reads the stored body, like any other.
    if (this.#kept !== undefined && this.#backing.end > 0) return this.#home.read(this.#kept, start, end);
    return this.spool.read(start, end);
  }

  async commit(response: StoredResponse): Promise<boolean> {
    if (response.bodyLength !== this.length) {
      const error = lengthError(this.length, response);
      this.abort(error);
      throw error;
    }
    if (!this.spool.open) return false;
    try {
      const body = await this.#finish();
      const kept = body !== undefined && (await this.#home.keep(response, body));
      if (kept) this.#kept = response;
      else this.#home.refused();
      return kept;
    } finally {
      this.#letGo();
    }
  }

  /**
   * The body is complete but must not be kept: its readers get all of it, and its file is deleted.
   */
  endUnkept(): void {
    if (!this.spool.open) return;
    this.spool.end();
    this.#letGo();
  }

  abort(reason: Error): void {
    if (!this.spool.open) return;
    this.spool.abort(reason);
    this.#letGo();
  }

  /** Writes the last bytes next to the first. Returns undefined if the body is not to be kept. */
  async #finish(): Promise<FinishedBody | undefined> {
    const { held, passing } = this.spool;
    try {
      if (passing) return undefined;
      if (this.#backing.end === 0 && this.length <= this.#home.inlineBytes) {
        return { kind: 'inline', pieces: held.chunks };
      }
      return await this.#backing.finish(held);
    } catch {
      // The readers get everything from memory; only the file is incomplete.
      return undefined;
    } finally {
      this.spool.end();
    }
  }

  /** Releases the writer's resources. */
  #letGo(): void {
    if (this.#over) return;
    this.#over = true;
    this.#backing.discard(this.#kept !== undefined);
    this.spool.release();
    this.#home.ended(this);
  }
}
