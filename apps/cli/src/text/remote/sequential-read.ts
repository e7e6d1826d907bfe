/**
 * Reads a file on a server from its beginning to its end by one request, and keeps the last
 * megabytes, because a reader of gzip goes back to the beginning of a member. An answer that breaks
 * off is continued by a range request, if the server has ranges and the file is still the same.
 */

import type { ReadBytes } from '../text-file.ts';
import { type Answer, shown } from './http-client.ts';
import { RemoteError } from './remote-error.ts';
import type { RemoteFile } from './remote-file.ts';

/** A reader of gzip goes back by 4 MiB at most. */
const KEPT = 8 << 20;
/** Breaks in a row, each with less than this many bytes since the one before. */
const MOST_BREAKS = 4;
const PROGRESS = 1 << 16;

export class SequentialRead {
  readonly #file: RemoteFile;
  #answer: Answer | null = null;
  #body: AsyncIterator<Uint8Array> | null = null;
  #parts: Uint8Array[] = [];
  /** The bytes of the file that `#parts` holds. */
  #start = 0;
  #end = 0;
  #isOver = false;
  #breaks = 0;
  #brokenAt = 0;

  constructor(file: RemoteFile) {
    this.#file = file;
  }

  readonly read: ReadBytes = async (position, length) => {
    if (this.#body === null || position < this.#start || position > this.#end + KEPT)
      await this.#begin(position);
    while (this.#end < position + length && !this.#isOver) {
      await this.#pull();
      this.#forget(position - KEPT);
    }
    const from = Math.max(0, position - this.#start);
    const to = Math.min(this.#end, position + length) - this.#start;
    if (to <= from) return new Uint8Array(0);
    const held = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    this.#parts = [held];
    return held.subarray(from, to);
  };

  close(): void {
    this.#answer?.close();
    this.#answer = null;
    this.#body = null;
  }

  async #begin(position: number): Promise<void> {
    this.close();
    this.#parts = [];
    this.#isOver = position >= this.#file.state.size;
    this.#start = position;
    this.#end = position;
    if (!this.#isOver) await this.#request();
  }

  /** Asks for the bytes from the end of the held ones on. */
  async #request(): Promise<void> {
    const { answer, from } = await this.#file.stream(this.#end);
    this.#answer = answer;
    this.#body = answer.body[Symbol.asyncIterator]();
    for (let left = this.#end - from; left > 0; ) {
      // A server without ranges sends what came before as well.
      const { value, done } = await this.#body.next();
      if (done) throw this.#cutOff();
      if (value.length > left) this.#take(value.subarray(left));
      left -= value.length;
    }
  }

  async #pull(): Promise<void> {
    try {
      const { value, done } = await this.#body!.next();
      if (!done) {
        this.#take(value);
        return;
      }
    } catch (error) {
      this.close();
      const { etag, modified } = this.#file.state;
      if (this.#end - this.#brokenAt >= PROGRESS) this.#breaks = 0;
      this.#brokenAt = this.#end;
      if (++this.#breaks > MOST_BREAKS || (etag ?? modified) === null) throw this.#cutOff(error);
      await this.#request();
      return;
    }
    const { size } = this.#file.state;
    if (Number.isFinite(size) && this.#end !== size) throw this.#cutOff();
    this.#isOver = true;
    this.#answer?.close();
    this.#answer = null;
  }

  #take(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#end += bytes.length;
  }

  #forget(before: number): void {
    while (this.#parts.length > 1 && this.#start + this.#parts[0].length <= before)
      this.#start += this.#parts.shift()!.length;
  }

  #cutOff(cause?: unknown): RemoteError {
    const { url, state } = this.#file;
    return new RemoteError(
      'protocol',
      `Cannot read ${shown(url)}: expected ${state.size} bytes, got ${this.#end} before the answer ended`,
      { cause },
    );
  }
}
