/**
 * The words that hold a filter's bits: an ordinary buffer, a shared one, or, while batches run, a piece of
 * WebAssembly memory (see wasm-kernel.ts). Bit i is bit i % 32 of word i / 32, so it is bit i % 8 of
 * byte i / 8, which is also the order in frames.
 */

import type { Movable } from '../wasm/wasm-kernel.ts';

export class BitStore implements Movable {
  words: Uint32Array;
  address = 0;
  demand = 0;
  readonly wordCount: number;
  readonly shared: boolean;

  constructor(words: Uint32Array) {
    this.words = words;
    this.wordCount = words.length;
    this.shared = typeof SharedArrayBuffer !== 'undefined' && words.buffer instanceof SharedArrayBuffer;
  }

  /** All zeros. `bits` was checked by the caller; only the machine can still say no. */
  static allocate(bits: number, shared = false): BitStore {
    const bytes = Math.ceil(bits / 32) * 4;
    try {
      return new BitStore(new Uint32Array(shared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes)));
    } catch (cause) {
      // No SharedArrayBuffer (in browsers: the page is not cross-origin isolated), or not so much memory.
      throw new RangeError(`Cannot allocate ${bytes}${shared ? ' shared' : ''} bytes`, { cause });
    }
  }

  /** In memory of its own, which is not shared. */
  copy(): BitStore {
    return new BitStore(this.words.slice());
  }

  /** Bytes in frame order: a view, to be copied before anything else happens. Any array may be too large for one view. */
  subarray(start: number, end: number): Uint8Array {
    return new Uint8Array(this.words.buffer, this.words.byteOffset + start, end - start);
  }

  /** Writes bytes from `start` on, where there must be room for them. */
  setBytes(bytes: Uint8Array, start = 0): void {
    this.subarray(start, start + bytes.length).set(bytes);
  }
}
