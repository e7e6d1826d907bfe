/**
 * Puts long messages together from their pieces. The pieces of one message come in order, because a
 * sender publishes them in one go on one connection. A message that lost a piece is given up when
 * the next one of its sender and subject begins, or when its memory is needed.
 *
 * Memory is used only for pieces that have come, all with a right signature. There are at most 4096
 * unfinished messages with 64 MiB together. Beyond that the oldest one is given up.
 */

import type { Envelope } from '../presence/envelope.ts';

interface Unfinished {
  readonly number: number;
  readonly pieces: Uint8Array[];
  bytes: number;
}

const MOST_HELD_BYTES = 64 * 1024 * 1024;
const MOST_UNFINISHED = 4096;

export class PieceAssembler {
  readonly #mostBytes: number;
  /** Messages that wait for pieces, by sender and subject, the oldest first. */
  readonly #unfinished = new Map<string, Unfinished>();
  #held = 0;

  constructor(mostBytes = MOST_HELD_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes of unfinished messages. */
  get heldBytes(): number {
    return this.#held;
  }

  /**
   * Takes a piece of a message. Returns the whole message if this was the last piece, or else null.
   * `place` names the sender and the place where the message comes in.
   */
  take(place: string, { number, piece, pieces, length, payload }: Envelope): Uint8Array | null {
    if (pieces === 1) {
      this.#giveUp(place);
      return payload;
    }
    if (piece === 0) {
      this.#giveUp(place);
      this.#unfinished.set(place, { number, pieces: [], bytes: 0 });
    }
    const message = this.#unfinished.get(place);
    if (message === undefined) return null;
    const isNext = message.number === number && message.pieces.length === piece;
    if (!isNext || message.bytes + payload.length > length) {
      this.#giveUp(place);
      return null;
    }
    message.pieces.push(payload);
    message.bytes += payload.length;
    this.#held += payload.length;
    if (piece + 1 < pieces) {
      this.#makeRoom();
      return null;
    }
    this.#giveUp(place);
    return message.bytes === length ? Buffer.concat(message.pieces) : null;
  }

  /** Gives up everything that has come so far. */
  clear(): void {
    this.#unfinished.clear();
    this.#held = 0;
  }

  #giveUp(place: string): void {
    this.#held -= this.#unfinished.get(place)?.bytes ?? 0;
    this.#unfinished.delete(place);
  }

  #makeRoom(): void {
    while (this.#held > this.#mostBytes || this.#unfinished.size > MOST_UNFINISHED) {
      const [oldest] = this.#unfinished.keys();
      this.#giveUp(oldest);
    }
  }
}
