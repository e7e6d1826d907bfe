/** Reads the fields of a message. Bytes that end too early, or too late, are a `ReconcileError`. */

import { ReconcileError, refuse } from '../reconcile-error.ts';

/** The greatest number in a message: exact as a double in every sum of a few of them. */
const MOST = 2 ** 48;

export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #what: string;
  #at = 0;

  /** `what` names the message in errors. */
  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  byte(): number {
    return this.take(1)[0];
  }

  varint(most = MOST): number {
    let value = 0;
    for (let scale = 1; scale <= MOST; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) {
        if (value > most) this.refuse(`at most ${most}`, value);
        return value;
      }
    }
    return this.refuse('a number below 2^48', 'more bytes');
  }

  /** A 64-bit integer. */
  word(): bigint {
    const bytes = this.take(8);
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  }

  /** A view of the next bytes. */
  take(length: number): Uint8Array {
    if (length > this.left) this.refuse(`${length} more bytes`, this.left);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  rest(): Uint8Array {
    return this.take(this.left);
  }

  end(): void {
    if (this.left > 0) this.refuse('the end of the message', `${this.left} more bytes`);
  }

  /** Throws the error of a message that may not come now. */
  unexpected(): never {
    throw new ReconcileError('unexpected', `expected another message at this point, got ${this.#what}`);
  }

  /** Throws the error of a message with a wrong value. */
  refuse(expected: string, got: unknown): never {
    refuse(expected, got, this.#what);
  }
}
