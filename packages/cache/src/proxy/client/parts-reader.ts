/**
 * A multipart/byteranges body (RFC 9110, 14.6) as a reader: the text before each part, its bytes
 * from the store, the closing line.
 *
 * One part is read at a time, and the next one is opened before the last is closed. A body that is
 * still being fetched is kept only for its readers. Without a reader between two parts, its fetch
 * would be abandoned, or the bytes of the next part dropped.
 */

import type { Answer } from '../../policy/answer.ts';
import type { BodyReader } from '../../store/response-store.ts';

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
    // The reader was closed while the end of a part was pending; a reader opened now would never be
    // closed.
    if (this.#finished) return null;
    const part = this.#parts.parts[this.#at++];
    if (part === undefined) {
      this.close();
      return Buffer.from(this.#parts.tail, 'latin1');
    }
    const last = this.#reader;
    this.#reader = this.#open(part.start, part.end);
    last?.close();
    return Buffer.from(part.head, 'latin1');
  }
}
