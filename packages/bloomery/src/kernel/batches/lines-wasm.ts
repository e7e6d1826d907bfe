/**
 * Finds newlines in WebAssembly, window by window, in a memory of its own.
 *
 *     0        SOURCE   a window of 128 KiB and 16 zeros
 *     196608   TARGET   as many words as there may be newlines in a window
 */

import { platform, type WasmMemory } from '../../keys/platform.ts';
import { linkModule } from '../wasm/wasm-kernel.ts';
import { LINES_BASE64 } from './lines-binary.ts';

const WINDOW = 131072;
const TARGET = 196608;
const PAGE = 65536;

export class LineKernel {
  readonly #memory: WasmMemory;
  readonly #call: LineExports;
  readonly #source: Uint8Array;
  readonly #target: Uint32Array;

  constructor() {
    this.#memory = new platform.WebAssembly!.Memory({ initial: (TARGET + 4 * WINDOW) / PAGE });
    this.#call = linkModule(LINES_BASE64, this.#memory);
    this.#source = new Uint8Array(this.#memory.buffer, 0, WINDOW + 16);
    this.#target = new Uint32Array(this.#memory.buffer, TARGET, WINDOW);
  }

  count(bytes: Uint8Array): number {
    let total = 0;
    for (let at = 0; at < bytes.length; at += WINDOW) {
      total += this.#call.countNewlines(0, this.#place(bytes, at));
    }
    return total;
  }

  find(bytes: Uint8Array, ends: Uint32Array): void {
    let found = 0;
    for (let at = 0; at < bytes.length; at += WINDOW) {
      const count = this.#call.findNewlines(0, this.#place(bytes, at), at, TARGET);
      ends.set(this.#target.subarray(0, count), found);
      found += count;
    }
  }

  /** Copies a window in, followed by zeros; returns its length. */
  #place(bytes: Uint8Array, at: number): number {
    const length = Math.min(WINDOW, bytes.length - at);
    this.#source.set(bytes.subarray(at, at + length));
    this.#source.fill(0, length, length + 16);
    return length;
  }
}

interface LineExports {
  countNewlines(source: number, length: number): number;
  findNewlines(source: number, length: number, base: number, target: number): number;
}
