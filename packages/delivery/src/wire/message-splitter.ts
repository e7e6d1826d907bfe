/**
 * Cuts a stream of bytes into messages. A length above what the file allows ends it with a
 * DeliveryError before anything is allocated for it, so a peer occupies at most one such message
 * and one piece of the connection.
 */

import { DeliveryError } from '../delivery-error.ts';
import { mostMessageBytes } from './state-message.ts';

export class MessageSplitter {
  #left: Uint8Array = new Uint8Array(0);

  /** Takes a piece, and calls `take` with each message: its type and its body. */
  push(piece: Uint8Array, blocks: () => number, take: (message: Uint8Array) => void): void {
    const bytes = this.#left.length === 0 ? piece : Buffer.concat([this.#left, piece]);
    let at = 0;
    while (bytes.length - at >= 5) {
      const length = new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0, true);
      const most = mostMessageBytes(bytes[at + 4]!, blocks());
      if (length < 1 || length > most)
        throw new DeliveryError(
          'limit',
          'read a state message',
          `expected 1 to ${most} bytes, got ${length} (type ${bytes[at + 4]})`,
        );
      if (bytes.length - at < 4 + length) break;
      take(bytes.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
    this.#left = Uint8Array.from(bytes.subarray(at));
  }
}
