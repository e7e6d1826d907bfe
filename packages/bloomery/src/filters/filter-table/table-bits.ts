/**
 * The bits of a filter table, wherever they are at the moment: rows of columns
 * (kernel/bits/sliced.ts), which columns are live, and how many ones each column has.
 *
 * The ones are counted as they change, so that the fill and the rate of a column cost nothing to
 * ask for. Counting them again would be a pass over the whole table. After a fold they are unknown,
 * and counted when they are asked for.
 *
 * A table moves into WebAssembly memory when it is made, if there is any. Other structures wait
 * until lookups have paid for the copy (docs/notes/arena.md). A table is made to be looked up
 * often, and may be large: a copy of 70 MB takes 50 ms, which is better spent at the beginning than
 * at some later lookup.
 */

import type { HashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import { countOnes } from '../../kernel/bits/bit-operations.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import {
  rowBitsFor,
  type SlicedShape,
  slicedAdd,
  slicedBits,
  slicedCandidates,
} from '../../kernel/bits/sliced.ts';
import {
  foldRows,
  readColumn,
  widenRows,
  writeColumn,
  writeColumns,
} from '../../kernel/bits/sliced-columns.ts';
import { slicedAddChunk, slicedCandidatesIn } from '../../kernel/bits/sliced-wasm.ts';
import { wasmKernel } from '../../kernel/wasm/kernel-choice.ts';
import { WASM_POSSIBLE } from '../../kernel/wasm/wasm-possible.ts';
import { MAX_BITS } from '../../math/checks.ts';
import { probeBatch, residence } from '../shared/batch-probing.ts';

/** The arguments of its methods are checked by `FilterTable`. */
export class TableBits {
  readonly rows: number;
  /** The number of columns that there is room for. */
  readonly room: number;
  readonly #shape: SlicedShape;
  readonly #store: BitStore;
  /** The ones of each column, or -1 where they have to be counted. */
  readonly #ones: Float64Array;

  /** An empty table in which no column is live; `fill` writes other contents. */
  constructor(
    rows: number,
    hashes: number,
    columns: number,
    fill?: (words: Uint32Array, ones: Float64Array) => void,
  ) {
    this.rows = rows;
    this.room = rowBitsFor(columns);
    this.#shape = { rows, hashes, rowBits: this.room };
    const bits = slicedBits(this.#shape);
    if (bits > MAX_BITS) {
      throw new RangeError(`Cannot make a table: expected at most ${MAX_BITS} bits, got ${bits}`);
    }
    this.#store = BitStore.allocate(bits);
    this.#ones = new Float64Array(this.room);
    fill?.(this.#store.words, this.#ones);
    if (WASM_POSSIBLE) wasmKernel()?.admit(this.#store, 0, Number.POSITIVE_INFINITY);
  }

  get byteLength(): number {
    return this.#store.wordCount * 4;
  }

  /** Adds a hash, given by its halves as int32. Returns true if a bit changed. */
  add(column: number, low: number, high: number): boolean {
    const changed = slicedAdd(this.#store.words, low, high, this.#shape, column);
    this.#raise(column, changed);
    return changed > 0;
  }

  /** Returns how many keys changed a bit. */
  addMany(column: number, keys: KeyBatch, scheme: HashScheme): number {
    let fresh = 0;
    probeBatch(this.#store, keys, scheme, {
      inWasm: WASM_POSSIBLE
        ? (wasm, count, address) => {
            fresh += slicedAddChunk(wasm, count, address, this.#shape, column);
            this.#raise(column, wasm.values[0]);
          }
        : null,
      outside: (low, high) => (fresh += this.add(column, low, high) ? 1 : 0),
    });
    return fresh;
  }

  /** Writes one bit per column to `out`; returns the number of ones. */
  candidates(low: number, high: number, out: Uint32Array): number {
    const store = this.#store;
    const wasm = WASM_POSSIBLE ? residence(store) : null;
    return WASM_POSSIBLE && wasm !== null
      ? slicedCandidatesIn(wasm, store.words, low, high, store.address, this.#shape, out)
      : slicedCandidates(store.words, low, high, this.#shape, out);
  }

  isLive(column: number): boolean {
    return this.#bitAt(this.rows, column) === 1;
  }

  setLive(column: number, live: boolean): void {
    if (this.isLive(column) !== live) this.#invert(this.rows, column);
  }

  flip(column: number, row: number): void {
    this.#invert(row, column);
    this.#raise(column, 2 * this.#bitAt(row, column) - 1);
  }

  /** Writes rows of a column: the bits of a classic filter, or zeros for null. */
  write(column: number, bits: Uint32Array | null, from: number, to: number): void {
    this.#raise(column, writeColumn(this.#store.words, this.#shape, column, bits, from, to));
  }

  /** Writes all columns, each from the bits of a classic filter. */
  writeAll(arrays: readonly Uint32Array[]): void {
    if (this.room >= 32) writeColumns(this.#store.words, this.#shape, arrays);
    for (const [column, bits] of arrays.entries()) {
      if (this.room < 32) this.write(column, bits, 0, this.rows);
      else this.#ones[column] = countOnes(bits);
    }
  }

  /** Copies the bits of a column to `target`. */
  read(column: number, target: Uint32Array): void {
    readColumn(this.#store.words, this.#shape, column, target);
  }

  onesOf(column: number): number {
    if (this.#ones[column] < 0) {
      const bits = new Uint32Array(Math.ceil(this.rows / 32));
      this.read(column, bits);
      this.#ones[column] = countOnes(bits);
    }
    return this.#ones[column];
  }

  /** A table with half the rows and the same keys. */
  folded(): TableBits {
    const { rows, hashes } = this.#shape;
    return new TableBits(rows / 2, hashes, this.room, (words, ones) => {
      foldRows(this.#store.words, this.#shape, words);
      ones.fill(-1);
    });
  }

  /** A table with room for more columns and the same keys. */
  widened(columns: number): TableBits {
    const { rows, hashes } = this.#shape;
    return new TableBits(rows, hashes, columns, (words, ones) => {
      widenRows(this.#store.words, this.#shape, words, rowBitsFor(columns));
      ones.set(this.#ones);
    });
  }

  #raise(column: number, changed: number): void {
    if (this.#ones[column] >= 0) this.#ones[column] += changed;
  }

  #bitAt(row: number, column: number): number {
    const bit = row * this.#shape.rowBits + column;
    return (this.#store.words[Math.floor(bit / 32)] >>> (bit & 31)) & 1;
  }

  #invert(row: number, column: number): void {
    const bit = row * this.#shape.rowBits + column;
    this.#store.words[Math.floor(bit / 32)] ^= 1 << (bit & 31);
  }
}
