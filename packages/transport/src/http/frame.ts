/**
 * The frames of a stream: a length, a kind, a body and the first 16 bytes of a mac.
 *
 *     length u32 | kind u8 | topic u8, in messages | payload | mac 16 bytes
 *
 * The reader is for untrusted input. A declared length is compared with the limit when its four
 * bytes have come, and memory is used only for bytes that have arrived. A frame costs 22 bytes
 * beside its payload, and 7 more for the chunk of HTTP.
 */

import { MAX_MESSAGE_BYTES } from '../transport.ts';

/** The first frame of a stream: who speaks, in which version. */
export const HELLO = 0;
/** A published message, with the index of its topic in the list that was asked for. */
export const MESSAGE = 1;
/** A sign of life, with nothing in it. */
export const HEARTBEAT = 2;

export const MAC_BYTES = 16;
const LENGTH_BYTES = 4;
const KIND_BYTES = 1;
const TOPIC_BYTES = 1;
const LEAST_LENGTH = KIND_BYTES + MAC_BYTES;
const MOST_LENGTH = KIND_BYTES + TOPIC_BYTES + MAX_MESSAGE_BYTES + MAC_BYTES;

export interface Frame {
  readonly kind: number;
  /** The index of the topic of a message; 0 in other frames. */
  readonly topic: number;
  readonly payload: Uint8Array;
  readonly mac: Uint8Array;
}

/** A stream that cannot be read on. */
export class StreamError extends Error {
  override readonly name = 'StreamError';
}

/** The bytes of a frame before its payload. */
export function frameHead(kind: number, topic: number, payloadLength: number): Buffer {
  const isMessage = kind === MESSAGE;
  const head = Buffer.alloc(LENGTH_BYTES + KIND_BYTES + (isMessage ? TOPIC_BYTES : 0));
  head.writeUInt32LE(head.length - LENGTH_BYTES + payloadLength + MAC_BYTES, 0);
  head[LENGTH_BYTES] = kind;
  if (isMessage) head[LENGTH_BYTES + KIND_BYTES] = topic;
  return head;
}

/** Cuts the bytes of a stream into frames, however they arrive. */
export class FrameReader {
  #pieces: Uint8Array[] = [];
  #count = 0;
  /** Bytes of the frame that arrives, length included; null before its length has come. */
  #wanted: number | null = null;

  /** The frames that are complete with this piece. Throws a StreamError for a wrong length. */
  push(piece: Uint8Array): Frame[] {
    this.#pieces.push(piece);
    this.#count += piece.length;
    const frames: Frame[] = [];
    for (;;) {
      if (this.#wanted === null) {
        if (this.#count < LENGTH_BYTES) return frames;
        this.#wanted = LENGTH_BYTES + lengthIn(this.#joined());
      }
      if (this.#count < this.#wanted) return frames;
      const bytes = this.#joined();
      frames.push(readFrame(bytes.subarray(LENGTH_BYTES, this.#wanted)));
      this.#pieces = [bytes.subarray(this.#wanted)];
      this.#count -= this.#wanted;
      this.#wanted = null;
    }
  }

  #joined(): Uint8Array {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0];
  }
}

function lengthIn(bytes: Uint8Array): number {
  const length = new DataView(bytes.buffer, bytes.byteOffset, LENGTH_BYTES).getUint32(0, true);
  if (length < LEAST_LENGTH || length > MOST_LENGTH)
    throw new StreamError(
      `Cannot read a stream: expected a frame of ${LEAST_LENGTH} to ${MOST_LENGTH} bytes, got ${length}`,
    );
  return length;
}

function readFrame(bytes: Uint8Array): Frame {
  const kind = bytes[0];
  const at = KIND_BYTES + (kind === MESSAGE ? TOPIC_BYTES : 0);
  if (bytes.length < at + MAC_BYTES)
    throw new StreamError(`Cannot read a stream: expected a message with a topic, got ${bytes.length} bytes`);
  const end = bytes.length - MAC_BYTES;
  const topic = kind === MESSAGE ? bytes[KIND_BYTES] : 0;
  return { kind, topic, payload: bytes.subarray(at, end), mac: bytes.subarray(end) };
}
