/** The share of ones in each of up to 512 equal parts of a file, counted while it is read. */

const PARTS = 512;

export class OnesMap {
  readonly #size: number;
  readonly #parts: number;
  readonly #ones: Float64Array;

  constructor(size: number) {
    this.#size = size;
    this.#parts = Math.min(PARTS, size);
    this.#ones = new Float64Array(this.#parts);
  }

  /** Counts bytes that begin at `start` in the file. */
  add(start: number, bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      const part = Math.floor(((start + at) * this.#parts) / this.#size);
      const end = Math.min(bytes.length, this.#startOf(part + 1) - start);
      let ones = 0;
      for (; at < end; at++) ones += ONES[bytes[at]];
      this.#ones[part] += ones;
    }
  }

  shares(): Float32Array {
    return Float32Array.from(
      this.#ones,
      (ones, part) => ones / (8 * (this.#startOf(part + 1) - this.#startOf(part))),
    );
  }

  #startOf(part: number): number {
    return Math.ceil((part * this.#size) / this.#parts);
  }
}

const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);
