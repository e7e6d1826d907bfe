/**
 * One side's own cells in order from symbol 0 on, made in blocks when they are first needed. A
 * block of a set that keeps no symbols costs a pass over all keys, so callers say how far they go.
 */

import { CELL } from '../symbols/cell.ts';
import type { SymbolBlocks } from '../symbols/symbol-source.ts';

export class OwnCells {
  readonly width: number;
  readonly #open: () => SymbolBlocks;
  #blocks: SymbolBlocks | null = null;
  /** The cells of the last block, which holds the symbols from `from` to `end`. */
  #cells = new Int32Array(0);
  #from = 0;
  #end = 0;

  /** `open` gives the symbols in blocks. It is called when the first cells are needed. */
  constructor(open: () => SymbolBlocks, width: number) {
    this.#open = open;
    this.width = width;
  }

  /**
   * The cells of the symbols from `from` to `end`, where the last call ended. `ahead` is the last
   * one that will be needed, and the next block begins there.
   */
  range(from: number, end: number, ahead: number): Int32Array {
    if (end > this.#end) {
      this.#blocks ??= this.#open();
      this.#from = from;
      this.#end = Math.max(end, ahead);
      this.#cells = this.#blocks.block(this.#end);
    }
    return this.#cells.subarray(CELL * (from - this.#from), CELL * (end - this.#from));
  }
}
