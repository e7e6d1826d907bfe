/**
 * Reuses buffers for parts of files. Reading into memory that was used before is twice as fast as
 * into fresh memory, and the garbage collector has nothing to do.
 */

export class BufferPool {
  readonly #size: number;
  readonly #free: ArrayBuffer[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  /** Returns at least `room` bytes, with arbitrary contents. */
  take(room: number): Uint8Array<ArrayBuffer> {
    if (room > this.#size) return new Uint8Array(room);
    return new Uint8Array(this.#free.pop() ?? new ArrayBuffer(this.#size));
  }

  /** Gives back the memory of an array, which the caller must not use again. */
  give({ buffer }: Uint8Array<ArrayBuffer>): void {
    if (buffer.byteLength === this.#size && this.#free.length < MOST) this.#free.push(buffer);
  }
}

const MOST = 32;
