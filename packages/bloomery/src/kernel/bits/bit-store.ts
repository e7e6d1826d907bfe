/**
 * The words that hold a filter's bits: an ordinary buffer, a shared one, or, while batches run, a
 * part of WebAssembly memory (see wasm-kernel.ts). Bit i is bit i % 32 of word i / 32, so it is bit
 * i % 8 of byte i / 8, which is also the order in frames.
 */

import type { Movable } from '../wasm/wasm-kernel.ts';

export class BitStore implements Movable {
  // `declare` keeps the names out of the bundle.
  declare words: Uint32Array;
  address = 0;
  demand = 0;
  declare readonly wordCount: number;
  declare readonly shared: boolean;

  constructor(words: Uint32Array) {
    this.words = words;
    this.wordCount = words.length;
    this.shared = typeof SharedArrayBuffer !== 'undefined' && words.buffer instanceof SharedArrayBuffer;
  }

  /** Allocates zeros. The caller has checked `bits`, so this fails only if the machine refuses. */
  static allocate(bits: number, shared = false): BitStore {
    const bytes = Math.ceil(bits / 32) * 4;
    try {
      return new BitStore(new Uint32Array(shared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes)));
    } catch (cause) {
      // There is no SharedArrayBuffer (in browsers: the page is not cross-origin isolated), or not
      // enough memory.
      throw new RangeError(`Cannot allocate: expected ${bytes}${shared ? ' shared' : ''} bytes`, {
        cause,
      });
    }
  }

  /** A copy in memory of its own, which is not shared. */
  copy(): BitStore {
    return new BitStore(this.words.slice());
  }

  /**
   * Bytes in frame order, as a view that must be copied before any other operation. It is a part,
   * because a whole store may be too large for one view.
   */
  subarray(start: number, end: number): Uint8Array {
    return new Uint8Array(this.words.buffer, this.words.byteOffset + start, end - start);
  }

  /** Writes bytes from `start` on. There must be room for them. */
  setBytes(bytes: Uint8Array, start = 0): void {
    this.subarray(start, start + bytes.length).set(bytes);
  }
}
