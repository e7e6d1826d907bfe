/**
 * One side's own cells from symbol 0 on, made in blocks when they are first needed. A block of a
 * set that keeps no symbols costs a pass over all keys, so callers say how far they will go.
 */

import { CELL, encodeCells } from '../symbols/cell.ts';
import type { SymbolBlocks } from '../symbols/symbol-source.ts';

export class OwnCells {
  readonly idBytes: number;
  readonly #open: () => SymbolBlocks;
  #blocks: SymbolBlocks | null = null;
  #cells = new Int32Array(0);
  #end = 0;

  /** `open` gives the symbols in blocks. It is called when the first cells are needed. */
  constructor(open: () => SymbolBlocks, idBytes: number) {
    this.#open = open;
    this.idBytes = idBytes;
  }

  /** The cells of the symbols from `from` to `end`. `ahead` is the last one that will be needed. */
  range(from: number, end: number, ahead: number): Int32Array {
    if (end > this.#end) {
      const made = Math.max(end, ahead);
      if (this.#cells.length < CELL * made) {
        const larger = new Int32Array(CELL * Math.max(made, this.#end + (this.#end >>> 1)));
        larger.set(this.#cells);
        this.#cells = larger;
      }
      this.#blocks ??= this.#open();
      this.#cells.set(this.#blocks.block(made), CELL * this.#end);
      this.#end = made;
    }
    return this.#cells.subarray(CELL * from, CELL * end);
  }

  /** The symbols from `from` to `end` as they are sent. */
  encode(from: number, end: number, ahead: number): Uint8Array {
    return encodeCells(this.range(from, end, ahead), end - from, this.idBytes);
  }
}
