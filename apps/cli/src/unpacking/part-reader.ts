/** Takes exact numbers of bytes from parts of any size. */

export class PartReader {
  readonly #parts: AsyncIterator<Uint8Array>;
  #held: Uint8Array = new Uint8Array(0);
  #taken = 0;

  constructor(parts: AsyncIterable<Uint8Array>) {
    this.#parts = parts[Symbol.asyncIterator]();
  }

  /** Bytes that were taken so far. */
  get taken(): number {
    return this.#taken;
  }

  /** The next bytes without taking them: `length` of them, or fewer at the end. */
  async peek(length: number): Promise<Uint8Array> {
    while (this.#held.length < length) {
      const { value, done } = await this.#parts.next();
      if (done) break;
      this.#held = this.#held.length === 0 ? value : Buffer.concat([this.#held, value]);
    }
    return this.#held.subarray(0, length);
  }

  /** The next bytes: `length` of them, or fewer at the end. */
  async take(length: number): Promise<Uint8Array> {
    const bytes = await this.peek(length);
    this.#held = this.#held.subarray(bytes.length);
    this.#taken += bytes.length;
    return bytes;
  }

  /** Closes the source of the parts. */
  async close(): Promise<void> {
    await this.#parts.return?.();
  }
}
