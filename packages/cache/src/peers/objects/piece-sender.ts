/**
 * Sends a body to a neighbour in checked pieces (object-pieces.ts), at the neighbour's pace, with
 * beats while there are no bytes to send, and the digest in the trailer.
 *
 * If the reader fails, the connection is cut, so that the neighbour sees an incomplete body.
 */

import type { ServerResponse } from 'node:http';
import type { Clock } from '@bloomery/transport';
import { cutConnection } from '../../safety/node-internals.ts';
import type { BodyReader } from '../../store/response-store.ts';
import { PIECE_BYTES, PieceWriter } from './object-pieces.ts';
import { DIGEST_TRAILER } from './object-response.ts';

/** Time between two beats. A reader gives a holder up after twice that time. */
const BEAT_MS = 1000;
/** Time for which a neighbour may take none of the bytes sent to it. */
const STALL_MS = 10_000;

export interface PieceSenderOptions {
  readonly clock: Clock;
  readonly key: Uint8Array;
  readonly context: Uint8Array;
}

export class PieceSender {
  /** Bytes of the body sent so far. */
  bytes = 0;
  readonly #res: ServerResponse;
  readonly #clock: Clock;
  readonly #writer: PieceWriter;

  constructor(res: ServerResponse, { clock, key, context }: PieceSenderOptions) {
    this.#res = res;
    this.#clock = clock;
    this.#writer = new PieceWriter(key, context);
  }

  /**
   * Sends everything that the reader returns, after the head. `first` is the first piece, if it was
   * read already. Without it the head is proven by a beat at once. Resolves when the answer is
   * over, whether it was completed or cut.
   */
  async send(reader: BodyReader, first?: Uint8Array | null): Promise<void> {
    const res = this.#res;
    try {
      if (first === undefined) res.write(this.#writer.beat());
      let chunk = first === undefined ? await this.#next(reader) : first;
      while (chunk !== null) {
        await this.#write(chunk);
        chunk = await this.#next(reader);
      }
    } catch {
      cutConnection(res);
      return;
    }
    res.addTrailers([[DIGEST_TRAILER, this.#writer.trailer()]]);
    res.end();
  }

  /** The next bytes of the reader, with beats as long as they do not come. */
  #next(reader: BodyReader): Uint8Array | null | Promise<Uint8Array | null> {
    const next = reader.next();
    if (!(next instanceof Promise)) return next;
    let cancel = (): void => {};
    const beat = (): void => {
      this.#res.write(this.#writer.beat());
      cancel = this.#clock.after(BEAT_MS, beat);
    };
    cancel = this.#clock.after(BEAT_MS, beat);
    return next.finally(() => cancel());
  }

  async #write(chunk: Uint8Array): Promise<void> {
    const res = this.#res;
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      const bytes = chunk.subarray(at, at + PIECE_BYTES);
      const { before, after } = this.#writer.around(bytes);
      res.cork();
      res.write(before);
      res.write(bytes);
      const more = res.write(after);
      res.uncork();
      this.bytes += bytes.length;
      if (!more) await this.#drained();
    }
  }

  /** Resolves when the neighbour has taken what was written; rejects if it does not. */
  #drained(): Promise<void> {
    const res = this.#res;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        cancel();
        res.off('drain', drained);
        res.off('close', closed);
      };
      const drained = (): void => {
        stop();
        resolve();
      };
      const closed = (): void => {
        stop();
        reject(new Error('Cannot send a body: expected a neighbour that takes it, got one that does not'));
      };
      const cancel = this.#clock.after(STALL_MS, closed);
      res.once('drain', drained);
      res.once('close', closed);
      if (res.destroyed) closed();
    });
  }
}
