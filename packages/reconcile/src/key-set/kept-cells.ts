/**
 * The first symbols of a set that changes, with ids of 5 bytes. A key that comes or goes changes
 * 2·ln(1 + m/2) of m symbols: 12 of 1024.
 */

import { KEPT_ID_BYTES } from '../session/own-set.ts';
import { CELL } from '../symbols/cell.ts';
import { IdMapping } from '../symbols/id-mapping.ts';
import { type SymbolBlocks, SymbolSource } from '../symbols/symbol-source.ts';
import { halfMask } from '../wire/half-mask.ts';

const MASK = halfMask(8 * KEPT_ID_BYTES - 32);

/** Adds (1) or takes out (-1) the key with this hash. */
export function changeCells(cells: Int32Array, low: number, high: number, by: 1 | -1): void {
  const mapping = new IdMapping();
  const end = cells.length / CELL;
  for (mapping.start(high, low & MASK); mapping.index < end; mapping.step()) {
    const at = CELL * mapping.index;
    cells[at] ^= high;
    cells[at + 1] ^= low & MASK;
    cells[at + 2] ^= mapping.check;
    cells[at + 3] += by;
  }
}

/** The kept symbols in blocks. Symbols beyond them are made from all keys, when asked for. */
export class KeptBlocks implements SymbolBlocks {
  readonly #cells: Int32Array;
  readonly #words: Int32Array;
  #rest: SymbolSource | null = null;
  #end = 0;

  constructor(cells: Int32Array, words: Int32Array) {
    this.#cells = cells;
    this.#words = words;
  }

  block(end: number): Int32Array<ArrayBuffer> {
    const from = CELL * this.#end;
    if (CELL * end > this.#cells.length && this.#rest === null) {
      this.#rest = new SymbolSource(this.#words, this.#words.length / 2, KEPT_ID_BYTES);
      this.#rest.block(this.#end);
    }
    this.#end = Math.max(this.#end, end);
    return this.#rest?.block(end) ?? this.#cells.slice(from, CELL * end);
  }
}
