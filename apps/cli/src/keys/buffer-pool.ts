/**
 * Buffers for parts of files, used again and again: memory that was touched before is read into twice as fast as fresh
 * memory, and garbage collection has nothing to do.
 */

export class BufferPool {
  readonly #size: number;
  readonly #free: ArrayBuffer[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  /** At least `room` bytes, with anything in them. */
  take(room: number): Uint8Array<ArrayBuffer> {
    if (room > this.#size) return new Uint8Array(room);
    return new Uint8Array(this.#free.pop() ?? new ArrayBuffer(this.#size));
  }

  /** Gives back what a buffer is of; nobody may look at it any more. */
  give({ buffer }: Uint8Array<ArrayBuffer>): void {
    if (buffer.byteLength === this.#size && this.#free.length < MOST) this.#free.push(buffer);
  }
}

const MOST = 32;
