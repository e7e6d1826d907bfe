/**
 * Messages of a session: a type, the length of the body as a varint, and the body.
 * docs/spec/reconcile.md has the bodies. `MessageBuffer` cuts messages out of bytes that arrive in
 * pieces of any size. It holds what has arrived, never what a length only declares.
 */

import { checkLimit, refuse } from '../reconcile-error.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { HELLO, KEYS } from './message-types.ts';

const NAMES = 'hello summary more symbols filter filtered tell verdict again keys resume'.split(' ');

/** The first bytes of a hello: 'BLMR'. */
export const MAGIC: Uint8Array = /* @__PURE__ */ Uint8Array.of(0x42, 0x4c, 0x4d, 0x52);

/** The name of a type, for errors. */
function nameOf(type: number): string {
  return NAMES[type - 1];
}

export interface Message {
  readonly type: number;
  readonly body: Uint8Array;
}

/** A reader of the body, whose errors name the message. */
export function readerOf({ type, body }: Message): ByteReader {
  return new ByteReader(body, nameOf(type));
}

export function encodeMessage(type: number, body: Uint8Array): Uint8Array<ArrayBuffer> {
  return new ByteWriter().byte(type).varint(body.length).bytes(body).finish();
}

export class MessageBuffer {
  #bytes = new Uint8Array(0);
  #start = 0;
  #end = 0;

  /** Bytes that have arrived and belong to no whole message yet. */
  get waiting(): number {
    return this.#end - this.#start;
  }

  /** A copy of those bytes. */
  rest(): Uint8Array {
    return this.#bytes.slice(this.#start, this.#end);
  }

  push(bytes: Uint8Array): void {
    if (this.#end + bytes.length > this.#bytes.length) {
      const held = this.#bytes.subarray(this.#start, this.#end);
      const needed = held.length + bytes.length;
      const larger = new Uint8Array(Math.max(needed, 2 * held.length));
      larger.set(held);
      this.#bytes = larger;
      this.#end = held.length;
      this.#start = 0;
    }
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /**
   * The next whole message, or null if it has not arrived. `most` is the longest body that may
   * come, and `lastType` the greatest type. The body is a view that is valid until the next `push`.
   */
  next(most: number, lastType = KEYS): Message | null {
    const { waiting } = this;
    if (waiting < 2) return null;
    const type = this.#bytes[this.#start];
    if (type < HELLO || type > lastType) refuse(`a type from 1 to ${lastType}`, type, 'message');
    let length = 0;
    let head = 1;
    for (let scale = 1; ; scale *= 128) {
      if (head > 7) refuse('a number below 2^48', 'more bytes', nameOf(type));
      if (head >= waiting) return null;
      const byte = this.#bytes[this.#start + head++];
      length += (byte & 127) * scale;
      if (byte < 128) break;
    }
    checkLimit(most, length, `more bytes of ${nameOf(type)}`);
    if (waiting < head + length) return null;
    const from = this.#start + head;
    this.#start = from + length;
    return { type, body: this.#bytes.subarray(from, from + length) };
  }
}
