/** Writes the fields of a message into bytes that grow. */

export class ByteWriter {
  #bytes = new Uint8Array(64);
  #size = 0;

  byte(value: number): this {
    this.#room(1);
    this.#bytes[this.#size++] = value;
    return this;
  }

  /** LEB128, for integers from 0 to 2^48. */
  varint(value: number): this {
    let rest = value;
    while (rest >= 128) {
      this.byte((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    return this.byte(rest);
  }

  /** A 64-bit integer. */
  word(value: bigint): this {
    this.#room(8);
    new DataView(this.#bytes.buffer).setBigUint64(this.#size, value, true);
    this.#size += 8;
    return this;
  }

  bytes(value: Uint8Array): this {
    this.#room(value.length);
    this.#bytes.set(value, this.#size);
    this.#size += value.length;
    return this;
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#size);
  }

  #room(more: number): void {
    if (this.#size + more <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#size + more));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
