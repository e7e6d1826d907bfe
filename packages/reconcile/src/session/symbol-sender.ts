/**
 * The symbols that a responder sends: made in blocks, and sent in pieces as far as the initiator
 * allows. Pieces grow with what was sent, so that an initiator that says stop in time has received
 * 1.5 % too much on average.
 */

import { ReconcileError } from '../reconcile-error.ts';
import { CELL, encodeCells, joinedCells } from '../symbols/cell.ts';
import type { SymbolBlocks } from '../symbols/symbol-source.ts';

const LEAST_PIECE = 8;
const MOST_PIECE = 4096;
const LEAST_BLOCK = 256;

export class SymbolSender {
  readonly idBytes: number;
  readonly #blocks: SymbolBlocks;
  readonly #most: number;
  #cells = new Int32Array(0);
  #from = 0;
  #sent = 0;
  #allowed = 0;

  constructor(blocks: SymbolBlocks, idBytes: number, maxSymbols: number) {
    this.#blocks = blocks;
    this.idBytes = idBytes;
    this.#most = maxSymbols;
  }

  /** Lets symbols be sent up to number `end`. */
  allow(end: number): void {
    if (end > this.#most)
      throw new ReconcileError('limit', `expected at most ${this.#most} symbols, got a request for ${end}`);
    this.#allowed = Math.max(this.#allowed, end);
  }

  stop(): void {
    this.#allowed = 0;
  }

  /** The next piece that may be sent, or null. */
  piece(): Uint8Array | null {
    const left = this.#allowed - this.#sent;
    if (left <= 0) return null;
    return this.take(Math.min(left, MOST_PIECE, Math.max(LEAST_PIECE, this.#sent >>> 5)));
  }

  /** The next `count` symbols. */
  take(count: number): Uint8Array {
    const end = this.#sent + count;
    const made = this.#from + this.#cells.length / CELL;
    if (end > made) this.#make(Math.max(end, Math.min(this.#allowed, Math.max(LEAST_BLOCK, 2 * made))));
    const start = CELL * (this.#sent - this.#from);
    const bytes = encodeCells(this.#cells.subarray(start, start + CELL * count), count, this.idBytes);
    this.#sent = end;
    return bytes;
  }

  /** Makes symbols up to number `end`, and forgets those that were sent. */
  #make(end: number): void {
    const held = this.#cells.subarray(CELL * (this.#sent - this.#from));
    this.#cells = joinedCells(held, this.#blocks.block(end));
    this.#from = this.#sent;
  }
}
