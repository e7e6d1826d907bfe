/**
 * Symbols that come from the responder, with our own symbols to subtract and the peeler. Symbols
 * beyond those that were allowed are an error, so their memory is bounded by our own wish.
 */

import { refuse } from '../reconcile-error.ts';
import { CELL, cellBytes, joinedCells } from '../symbols/cell.ts';
import { Peeler } from '../symbols/peeler.ts';
import type { SymbolBlocks } from '../symbols/symbol-source.ts';

export class SymbolReceiver {
  readonly idBytes: number;
  readonly peeler: Peeler;
  readonly #blocks: SymbolBlocks;
  /** Our symbols from number `#from` on. */
  #cells = new Int32Array(0);
  #from = 0;
  #arrived = 0;
  #allowed = 0;

  constructor(blocks: SymbolBlocks, idBytes: number) {
    this.#blocks = blocks;
    this.idBytes = idBytes;
    this.peeler = new Peeler(idBytes);
  }

  /** Number of symbols that may come in all. */
  get allowed(): number {
    return this.#allowed;
  }

  /** Makes our own symbols up to number `end`, so that theirs may come. */
  allow(end: number): void {
    if (end <= this.#allowed) return;
    const held = this.#cells.subarray(CELL * (this.peeler.size - this.#from));
    this.#cells = joinedCells(held, this.#blocks.block(end));
    this.#from = this.peeler.size;
    this.#allowed = end;
  }

  /** Number of symbols in these bytes, or an error if they are not allowed. */
  count(bytes: Uint8Array): number {
    const count = bytes.length / cellBytes(this.idBytes);
    if (!Number.isInteger(count)) refuse('whole symbols', `${bytes.length} bytes`, 'symbols');
    this.#arrived += count;
    if (this.#arrived > this.#allowed) refuse(`${this.#allowed} symbols`, this.#arrived, 'symbols');
    return count;
  }

  append(bytes: Uint8Array): void {
    const count = this.count(bytes);
    const start = CELL * (this.peeler.size - this.#from);
    this.peeler.append(this.#cells.subarray(start, start + CELL * count), bytes);
  }
}
