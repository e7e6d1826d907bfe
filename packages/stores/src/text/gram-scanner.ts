/**
 * Scans text into the filter of a block: the hot loop of building an index. This file has the port
 * and the scanner in JavaScript. Its twin in WebAssembly sets the same bits: gram-wasm.ts.
 */

import { type GramScheme, GramWindow } from './gram-scheme.ts';

export interface GramScanner {
  /** Bits of the block that are set. */
  readonly ones: number;
  /** Newlines since the scanner was made. */
  readonly lines: number;
  /** Whether the last `scan` stopped because the block is full. */
  readonly full: boolean;
  /**
   * Adds the grams of `bytes` from a position on. Returns the position after the newline with which
   * the block is full, or the length of the bytes. A block is full at the first newline after
   * `limit` bits are set, or after `room` bytes.
   */
  scan(bytes: Uint8Array, from: number, room: number): number;
  /** Ends a line that has no newline, at the end of a file. */
  endLine(): void;
  /** The bits of the block; the next block starts with none. */
  take(): Uint8Array<ArrayBuffer>;
}

export class ScriptGramScanner implements GramScanner {
  readonly #window: GramWindow;
  readonly #limit: number;
  readonly #bits: Uint8Array<ArrayBuffer>;
  ones = 0;
  lines = 0;
  full = false;

  constructor(scheme: GramScheme) {
    this.#window = new GramWindow(scheme);
    this.#limit = scheme.limit;
    this.#bits = new Uint8Array(2 ** scheme.bitsLog2 / 8);
  }

  scan(bytes: Uint8Array, from: number, room: number): number {
    const window = this.#window;
    const bits = this.#bits;
    const set = (bit: number) => {
      const mask = 1 << (bit & 7);
      if ((bits[bit >>> 3] & mask) !== 0) return;
      bits[bit >>> 3] |= mask;
      this.ones++;
    };
    this.full = false;
    for (let i = from; i < bytes.length; i++) {
      if (bytes[i] !== 10) {
        window.push(bytes[i], set);
        continue;
      }
      window.clear();
      this.lines++;
      if (this.ones >= this.#limit || i + 1 - from >= room) {
        this.full = true;
        return i + 1;
      }
    }
    return bytes.length;
  }

  endLine(): void {
    this.#window.clear();
  }

  take(): Uint8Array<ArrayBuffer> {
    const bits = this.#bits.slice();
    this.#bits.fill(0);
    this.ones = 0;
    return bits;
  }
}
