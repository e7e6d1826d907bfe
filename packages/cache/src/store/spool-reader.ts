/**
 * Reads one spool from a position to an end, at the pace of its caller. It waits when it has caught
 * up, and is woken by the next bytes, by the end, or by a failure.
 *
 * A reader that has all bytes it wants still counts as a reader until it is closed. A client that
 * reads several parts opens the next part before it closes the last one (parts-reader.ts); if the
 * reader left earlier, the fetch would be abandoned between the two, or the bytes of the next part
 * dropped. When the body has ended this is of no use, and the reader leaves by itself.
 */

import { BodyError, type BodyReader } from './response-store.ts';
import type { Spool } from './spool.ts';

type Bytes = Uint8Array | null;

export class SpoolReader implements BodyReader {
  /** @internal The next byte that it needs. */ position: number;
  readonly #end: number;
  #spool: Spool | undefined;
  #hint = 0;
  #finished = false;
  /** Set while a read of the backing is under way. */
  #reading = false;
  #waiter: { resolve(bytes: Bytes | Promise<Bytes>): void; reject(error: unknown): void } | undefined;
  /** The answer to every read after it has left; undefined if it was closed. */
  #error: Error | undefined;

  constructor(spool: Spool, start: number, end: number) {
    checkRange(start, end);
    this.#spool = spool;
    this.position = start;
    this.#end = end;
  }

  next(): Bytes | Promise<Bytes> {
    if (this.#reading || this.#waiter !== undefined) {
      return Promise.reject(calledTwiceError());
    }
    const bytes = this.#take();
    if (bytes !== undefined) return bytes;
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  close(): void {
    this.#leave();
  }

  /** @internal Called after a change; answers a waiting `next`. */
  wake(): void {
    if (this.#finished) this.#finish(this.#spool);
    const waiter = this.#waiter;
    if (waiter === undefined) return;
    this.#waiter = undefined;
    const bytes = this.#take();
    if (bytes === undefined) this.#waiter = waiter;
    else waiter.resolve(bytes);
  }

  /** @internal The other readers go on without this one, which does not get the rest. */
  leaveBehind(): void {
    const message =
      'Cannot read on: expected a reader that keeps up, got one that held up others for too long';
    this.#leave(new BodyError('gone', message));
  }

  /** The next bytes, null at the end, or undefined if there are none yet. */
  #take(): Bytes | Promise<Bytes> | undefined {
    const spool = this.#spool;
    if (this.#finished || this.position >= this.#end) return this.#finish(spool);
    if (spool === undefined) return Promise.reject(this.#error ?? closedError());
    if (spool.failure !== undefined) return this.#fail(spool.failure);
    const bytes = spool.bytesAt(this.position, this.#end, this.#hint);
    if (bytes instanceof Promise) return this.#whenRead(bytes);
    if (bytes !== undefined) {
      this.#hint = spool.held.indexOf(this.position, this.#hint);
      return this.#give(spool, bytes);
    }
    return spool.open ? undefined : this.#finish(spool);
  }

  async #whenRead(reading: Promise<Uint8Array>): Promise<Uint8Array> {
    this.#reading = true;
    try {
      const bytes = await reading;
      if (this.#spool === undefined) throw this.#error ?? closedError();
      return this.#give(this.#spool, bytes);
    } catch (error) {
      this.#leave(error as Error);
      throw error;
    } finally {
      this.#reading = false;
    }
  }

  #give(spool: Spool, bytes: Uint8Array): Uint8Array {
    this.position += bytes.length;
    spool.moved();
    return bytes;
  }

  #finish(spool: Spool | undefined): null {
    this.#finished = true;
    if (spool !== undefined && !spool.open) this.close();
    return null;
  }

  #fail(error: Error): Promise<never> {
    this.#leave(error);
    return Promise.reject(error);
  }

  #leave(error?: Error): void {
    const spool = this.#spool;
    if (spool === undefined) return;
    this.#spool = undefined;
    this.#error = error;
    spool.left(this);
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.reject(error ?? closedError());
  }
}

/** Throws unless the bytes from `start` to `end` are a range. */
export function checkRange(start: number, end: number): void {
  if (!(start >= 0 && end >= start)) {
    throw new RangeError(`Cannot read a body: expected 0 <= start <= end, got start ${start} and end ${end}`);
  }
}

export function closedError(): BodyError {
  return new BodyError('gone', 'Cannot read on: expected an open reader, got a closed one');
}

export function calledTwiceError(): TypeError {
  return new TypeError('Cannot read on: expected one call of next() at a time, got a second one');
}
