/**
 * The body of a client's request on its way to the origin: counted against the limit, with
 * back-pressure in both directions.
 *
 * The `IncomingMessage` itself is not passed to undici, because undici destroys the body when the
 * exchange ends, and destroying an `IncomingMessage` closes the client's connection, over which the
 * answer still has to go.
 *
 * A body can be read only once. If some of it was already read, the rest would look like a complete
 * body (with chunks, no length reveals it), so reading it again fails here. A body that was not
 * read yet can be given back, so that another `RequestBody` can send it.
 *
 * Trailers of a request are dropped, as RFC 9110, 6.5.1 allows.
 */

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

export class RequestBody extends Readable {
  /** Called for each piece, which shows that the client is alive. */
  progress: (() => void) | null = null;
  readonly #request: IncomingMessage;
  readonly #limit: number;
  #bytes = 0;
  #started = false;
  #given = false;

  constructor(request: IncomingMessage, limitBytes: number) {
    super({ highWaterMark: 64 * 1024 });
    this.#request = request;
    this.#limit = limitBytes;
  }

  /**
   * Leaves the request untouched, for another `RequestBody`. Returns false if it is too late,
   * because some of the body may be gone.
   */
  giveBack(): boolean {
    // If it was destroyed without being given back, the incoming data is being dropped.
    if (this.#started || this.destroyed) return false;
    this.#given = true;
    this.destroy();
    return true;
  }

  override _read(): void {
    if (!this.#started) {
      this.#started = true;
      if (this.#request.readableDidRead) {
        this.destroy(
          new Error('Cannot read the body of the request: its beginning was read before, and is gone'),
        );
        return;
      }
      this.#request.on('data', this.#data);
      this.#request.on('end', this.#end);
      this.#request.on('aborted', this.#aborted);
      this.#request.on('error', this.#aborted);
      return;
    }
    this.#request.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#request.off('data', this.#data);
    this.#request.off('end', this.#end);
    this.#request.off('aborted', this.#aborted);
    // The answer came early: the rest is read and dropped, so that the connection can be used
    // again.
    if (!this.#given && !this.#request.complete && !(error instanceof BodyTooLongError))
      this.#request.resume();
    callback(error);
  }

  readonly #data = (chunk: Buffer): void => {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limit) {
      this.#request.pause();
      this.destroy(new BodyTooLongError(this.#limit));
      return;
    }
    this.progress?.();
    if (!this.push(chunk)) this.#request.pause();
  };

  readonly #end = (): void => {
    this.push(null);
  };

  readonly #aborted = (): void => {
    this.destroy(new Error('Cannot read the body of the request: the client left before its end'));
  };
}

export class BodyTooLongError extends Error {
  override readonly name = 'BodyTooLongError';
  /** The number of bytes that is allowed. */
  readonly limit: number;

  constructor(limit: number) {
    super(`Cannot read the body of the request: expected at most ${limit} bytes, got more`);
    this.limit = limit;
  }
}
