/**
 * A multipart/byteranges body (RFC 9110, 14.6) as a reader: the text before each part, its bytes from the store, the closing line.
 * One part is open at a time.
 */

import type { Answer } from '../policy/contract.ts';
import type { BodyReader } from '../store/response-store.ts';

type Parts = Extract<Answer['body'], { kind: 'parts' }>;

export class PartsReader implements BodyReader {
  readonly #parts: Parts;
  readonly #open: (start: number, end: number) => BodyReader;
  #at = 0;
  #reader: BodyReader | null = null;
  #finished = false;

  constructor(parts: Parts, open: (start: number, end: number) => BodyReader) {
    this.#parts = parts;
    this.#open = open;
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    if (this.#finished) return null;
    if (this.#reader === null) return this.#nextHead();
    const chunk = this.#reader.next();
    return chunk instanceof Promise
      ? chunk.then((bytes) => bytes ?? this.#nextHead())
      : (chunk ?? this.#nextHead());
  }

  close(): void {
    this.#finished = true;
    this.#reader?.close();
    this.#reader = null;
  }

  #nextHead(): Uint8Array | null {
    this.#reader?.close();
    this.#reader = null;
    const part = this.#parts.parts[this.#at++];
    if (part === undefined) {
      this.close();
      return Buffer.from(this.#parts.tail, 'latin1');
    }
    this.#reader = this.#open(part.start, part.end);
    return Buffer.from(part.head, 'latin1');
  }
}
