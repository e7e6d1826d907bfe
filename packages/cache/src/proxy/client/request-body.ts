/**
 * The body of a client's request on its way to the origin: counted against the limit, with back-pressure in both directions.
 *
 * The `IncomingMessage` itself is not handed to undici, because undici destroys the body it was given when the exchange ends, and
 * destroying an `IncomingMessage` tears down the client's connection, over which the answer still has to go.
 *
 * A body can be read once. Of one that somebody has begun to read, the rest alone would look like a whole (with chunks, nothing tells its
 * length), so it fails here instead. One that nobody has asked for yet can be given back, for another to send.
 *
 * Trailers of a request are dropped, as RFC 9110, 6.5.1 allows.
 */

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

export class RequestBody extends Readable {
  /** Called for each piece: the client is alive. */
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

  /** Leaves the request as it came, for another one of these. False: too late, some of it may be gone. */
  giveBack(): boolean {
    // Destroyed without having been given: what arrives is being dropped.
    if (this.#started || this.destroyed) return false;
    this.#given = true;
    this.destroy();
    return true;
  }

  override _read(): void {
    if (!this.#started) {
      this.#started = true;
      if (this.#request.readableDidRead) {
        this.destroy(new Error('The beginning of the body of the request was read before, and is gone'));
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
    // Answered early: the rest is read and dropped, so that the connection can be used again.
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
    this.destroy(new Error('The client left before its request was complete'));
  };
}

export class BodyTooLongError extends Error {
  override readonly name = 'BodyTooLongError';

  constructor(limit: number) {
    super(`The body of the request is longer than the ${limit} bytes allowed`);
  }
}
