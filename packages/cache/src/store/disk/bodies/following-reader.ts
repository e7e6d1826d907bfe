/**
 * Reads a body that may still be arriving: the bytes in the file from there, checked, the others
 * from memory. It waits when it has caught up. See disk-writer.ts.
 */

import { BodyError, type BodyReader } from '../../response-store.ts';
import type { DiskWriter } from '../disk-writer.ts';
import { BLOCK_BYTES, readChecked } from './body-file.ts';
import type { SharedFile } from './open-files.ts';

/** Maximum bytes per read of the file. */
const READ_BYTES = 4 * BLOCK_BYTES;

export class FollowingReader implements BodyReader {
  at: number;
  readonly #end: number;
  #writer: DiskWriter | undefined;
  #file: SharedFile | undefined;
  #wake: (() => void) | undefined;
  #busy = false;
  #finished = false;

  constructor(writer: DiskWriter, start: number, end: number) {
    this.#writer = writer;
    this.at = start;
    this.#end = end;
    // Retained from the beginning, because the writer may release it before the first read.
    this.#file = writer.file?.retain();
    writer.attach(this);
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    if (this.#busy)
      return Promise.reject(new TypeError('next() was called again before the last one was answered'));
    if (this.#writer === undefined) return this.#finished ? null : Promise.reject(closedError());
    const bytes = this.#take(this.#writer);
    if (!(bytes instanceof Promise)) return bytes;
    this.#busy = true;
    return bytes.finally(() => {
      this.#busy = false;
    });
  }

  close(): void {
    const writer = this.#writer;
    if (writer === undefined) return;
    this.#writer = undefined;
    this.#wake?.();
    // A running read retains the descriptor itself.
    this.#file?.release();
    this.#file = undefined;
    writer.moved(this, true);
  }

  /** Called after a change. */
  wake(): void {
    const writer = this.#writer;
    // The file may have been created since.
    if (writer?.file !== undefined && this.#file === undefined) this.#file = writer.file.retain();
    this.#wake?.();
    this.#wake = undefined;
  }

  #take(writer: DiskWriter): Uint8Array | null | Promise<Uint8Array | null> {
    if (writer.failure !== undefined) return this.#fail(writer.failure);
    if (this.at >= this.#end) return this.#finish();
    // Bytes between file and memory may have been dropped in passing through, but only for readers
    // that arrived later.
    if (this.at < writer.base && writer.written < writer.base) {
      return this.#fail(
        new BodyError(
          'gone',
          `Byte ${this.at} of the body is not held any more, only those from ${writer.base} on`,
        ),
      );
    }
    if (this.at < writer.written) return this.#fromFile(writer);
    const bytes = writer.inMemory(this.at, this.#end);
    if (bytes !== undefined) return this.#give(writer, bytes);
    if (writer.state === 'ended') return this.#finish();
    return this.#wait();
  }

  async #wait(): Promise<Uint8Array | null> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const writer = this.#writer;
    if (writer === undefined) throw closedError();
    return this.#take(writer);
  }

  async #fromFile(writer: DiskWriter): Promise<Uint8Array> {
    this.#file ??= writer.file?.retain();
    if (this.#file === undefined)
      return this.#fail(new BodyError('gone', 'The body was read after it was committed'));
    const file = this.#file.retain();
    try {
      const { at } = this;
      // While it is being written, the file ends with a whole block.
      const to = Math.min(
        writer.written,
        this.#end,
        (Math.floor(at / BLOCK_BYTES) + 4) * BLOCK_BYTES,
        at + READ_BYTES,
      );
      const bytes = await readChecked(file.fd, at, to, writer.written, writer.checksums);
      if (this.#writer === undefined) throw closedError();
      return this.#give(writer, bytes);
    } catch (error) {
      this.close();
      throw error instanceof BodyError
        ? error
        : new BodyError('read-failed', `Cannot read a body from the disk: ${(error as Error).message}`, {
            cause: error,
          });
    } finally {
      file.release();
    }
  }

  #give(writer: DiskWriter, bytes: Uint8Array): Uint8Array {
    this.at += bytes.length;
    writer.moved(this, false);
    return bytes;
  }

  #finish(): null {
    this.#finished = true;
    this.close();
    return null;
  }

  #fail(error: BodyError): Promise<never> {
    this.close();
    return Promise.reject(error);
  }
}

function closedError(): BodyError {
  return new BodyError('gone', 'The reader was closed before the end of the body');
}
