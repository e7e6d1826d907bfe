/**
 * A table of many Bloom filters that answers for all of them in one lookup: which of them may hold
 * this key? It is bit-sliced: a row for each bit position, a column for each filter, all columns
 * side by side (kernel/bits/sliced.ts).
 *
 * What it is for. A cache with 256 neighbours has a summary of each and wants to know, at every
 * miss, which of them to ask. 256 calls of `hasHash` cost as much as the miss itself. The table
 * reads k rows instead of up to 256 · k words: bench/results/filter-table.md has the times. The
 * same holds for log segments, shards, or tables of a database with a filter each.
 *
 * What it promises. A column answers exactly like a `BloomFilter` of `rows` bits and the same
 * hashes, classic layout, with the same keys: no false negative, and its rate. With `columns`
 * columns a key that none of them holds finds columns · rate false candidates on average, so the
 * rate has to follow from the number of columns. `FilterTable.forCapacity` plans it
 * (math/plan-table.ts).
 *
 * What it costs. The memory of the filters, with the number of columns rounded up: below 32 to a
 * power of two, above to a multiple of 32. Adding a key touches k cache lines that also hold the
 * other columns: 0.3 µs in a batch at 256 columns of 100,000 keys, nine times as long as in a
 * filter of that size. Clearing or replacing a column is a pass over the whole table; `rebuild`
 * does it in slices while the table answers.
 *
 * What it cannot do: delete a key (rebuild the column), or hold filters of different sizes. There
 * is no frame, because a table is its owner's own structure, built from summaries that others sent,
 * and never leaves the process. `columnFilter` gives a column as a filter that can be encoded.
 */

import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import { hashKey, type KeyHash } from '../../kernel/batches/hash-key.ts';
import { hashKeys } from '../../kernel/batches/hash-keys.ts';
import { onesOf } from '../../kernel/bits/bit-operations.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { checkOptions } from '../../keys/check-options.ts';
import type { Key } from '../../keys/key.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkInteger, MAX_HASHES } from '../../math/checks.ts';
import { decayOf, rateFromOnes, sizeFromOnes } from '../../math/from-ones.ts';
import { planTable } from '../../math/plan-table.ts';
import { BloomFilter } from '../bloom-filter.ts';
import { ColumnRebuild } from './column-rebuild.ts';
import { TableBits } from './table-bits.ts';

/** The largest number of rows; an index of 32 bits reaches all of them. */
const MAX_ROWS = 2 ** 32;
const MAX_COLUMNS = 65_536;

export interface FilterTableOptions extends HashOptions {
  /**
   * The number of bits of each column, m. From 1 to 2^32. Folding j times needs a multiple of 2^j.
   */
  readonly rows: number;
  /** The number of hashes per key, k. From 1 to 255. */
  readonly hashes: number;
  /** The number of columns, from 1 to 65,536. `grow` adds more. */
  readonly columns: number;
}

export interface FilterTableCapacityOptions extends HashOptions {
  /** The number of columns, from 1 to 65,536. */
  readonly columns: number;
  /** The number of distinct keys of each column, or of the fullest. */
  readonly capacity: number;
  /** Columns that may say "maybe" on average for a key that none of them holds. Default 0.02. */
  readonly falseCandidates?: number;
  /** Upper limit for the hashes. Default 8. */
  readonly maxHashes?: number;
  /** How often `fold` must be possible. Default 4. */
  readonly folds?: number;
  /** The table must not be larger than this, even if the false candidates become more. */
  readonly memoryBytes?: number;
}

export class FilterTable {
  readonly hashes: number;
  readonly scheme: HashScheme;
  #columns = 0;
  #bits: TableBits;
  readonly #rebuilds = new Map<number, ColumnRebuild>();

  /** Sized by rows and hashes; `FilterTable.forCapacity` sizes by keys and false candidates. */
  constructor(options: FilterTableOptions);
  /** @internal */
  constructor(options: FilterTableOptions, scheme: HashScheme);
  constructor(options: FilterTableOptions, scheme?: HashScheme) {
    checkOptions('FilterTable', options, OPTIONS);
    const rows = checkInteger('rows', options.rows, 1, MAX_ROWS);
    const columns = checkInteger('columns', options.columns, 1, MAX_COLUMNS);
    this.hashes = checkInteger('hashes', options.hashes, 1, MAX_HASHES);
    this.scheme = scheme ?? hashScheme(options);
    this.#bits = new TableBits(rows, this.hashes, columns);
    this.grow(columns);
  }

  /**
   * Makes the smallest table that keeps the false candidates with `capacity` distinct keys in each
   * column, or the best one for the memory (`planTable` of bloomery/math).
   */
  static forCapacity(options: FilterTableCapacityOptions): FilterTable {
    const { columns, capacity, falseCandidates, maxHashes, folds, memoryBytes, ...hashing } = options;
    checkInteger('capacity', capacity, 1);
    const request = { columns, keysPerColumn: capacity, falseCandidates, maxHashes, folds, memoryBytes };
    const { rows, hashes } = planTable(request);
    return new FilterTable({ ...hashing, rows, hashes, columns });
  }

  /**
   * A table of these filters, in their order, with the same answers as `hasHash` of each. They must
   * have the same bits, hashes and hash scheme, and the classic layout.
   */
  static fromFilters(filters: readonly BloomFilter[]): FilterTable {
    if (filters.length === 0) throw new RangeError('Cannot make a table: expected filters, got none');
    const [{ bits, hashes, scheme }] = filters;
    const table = new FilterTable({ rows: bits, hashes, columns: filters.length }, scheme);
    table.#bits.writeAll(filters.map((filter) => table.#wordsToSet(filter)));
    return table;
  }

  /** The number of bits of each column, m. `fold` halves it. */
  get rows(): number {
    return this.#bits.rows;
  }

  get columns(): number {
    return this.#columns;
  }

  /** The number of 32-bit words that `candidates` writes. */
  get candidateWords(): number {
    return Math.ceil(this.#columns / 32);
  }

  /** The bytes that the table takes in memory. */
  get byteLength(): number {
    return this.#bits.byteLength;
  }

  /** Adds a key to a column. Returns true if it was certainly absent before. */
  add(column: number, key: Key): boolean {
    return this.addHash(column, hashKey(key, this.scheme));
  }

  /** Adds a key by its hash; see `hashKey`. */
  addHash(column: number, hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    this.#checkColumn(column);
    this.#rebuilds.get(column)?.follow(hash);
    return this.#bits.add(column, hash.low | 0, hash.high | 0);
  }

  /**
   * Adds many keys to a column, faster than one by one. Returns how many were certainly absent.
   */
  addMany(column: number, keys: KeyBatch): number {
    this.#checkColumn(column);
    const rebuild = this.#rebuilds.get(column);
    if (rebuild === undefined) return this.#bits.addMany(column, keys, this.scheme);
    // Keys may come from a generator, which can be read only once.
    const hashes = hashKeys(keys, this.scheme);
    rebuild.followMany(hashes);
    return this.#bits.addMany(column, hashes, this.scheme);
  }

  /**
   * Writes one bit per column to `out`, column c to bit c % 32 of word c / 32: 1 if the column may
   * hold the key, 0 if it certainly does not or is masked. Returns the number of ones.
   */
  candidates(hash: KeyHash, out: Uint32Array): number {
    checkSameScheme(hash.scheme, this.scheme);
    if (out.length < this.candidateWords) {
      throw new RangeError(
        `Cannot write candidates: expected ${this.candidateWords} words, got ${out.length}`,
      );
    }
    return this.#bits.candidates(hash.low | 0, hash.high | 0, out);
  }

  /** The columns that may hold the key, in rising order, without the masked ones. */
  columnsFor(key: Key): number[] {
    return this.columnsForHash(hashKey(key, this.scheme));
  }

  /** `columnsFor` by the key's hash; see `hashKey`. */
  columnsForHash(hash: KeyHash): number[] {
    const out = new Uint32Array(this.candidateWords);
    const columns: number[] = [];
    if (this.candidates(hash, out) === 0) return columns;
    for (const [w, word] of out.entries()) {
      // `rest & -rest` is the lowest one, and `rest & (rest - 1)` removes it.
      for (let rest = word; rest !== 0; rest &= rest - 1) columns.push(32 * w + onesOf((rest & -rest) - 1));
    }
    return columns;
  }

  /** Keeps a column out of all answers until `unmask`. Its bits stay, and can still be changed. */
  mask(column: number): void {
    this.#checkColumn(column);
    this.#bits.setLive(column, false);
  }

  unmask(column: number): void {
    this.#checkColumn(column);
    this.#bits.setLive(column, true);
  }

  isMasked(column: number): boolean {
    this.#checkColumn(column);
    return !this.#bits.isLive(column);
  }

  /** Removes all keys of a column, in one pass over the table. `rebuild` does it in slices. */
  clearColumn(column: number): void {
    this.#cancelRebuild(column);
    this.#bits.write(column, null, 0, this.rows);
  }

  /**
   * Replaces a column by a filter of `rows` bits with the same hashes, hash scheme and the classic
   * layout.
   */
  setColumn(column: number, filter: BloomFilter): void {
    const words = this.#wordsToSet(filter);
    this.#cancelRebuild(column);
    this.#bits.write(column, words, 0, this.rows);
  }

  /**
   * Inverts bits of a column, given by their rows: a difference between two states of the filter
   * that the column was set from.
   */
  flipRows(column: number, rows: Iterable<number>): void {
    this.#cancelRebuild(column);
    for (const row of rows) this.#bits.flip(column, checkInteger('row', row, 0, this.rows - 1));
  }

  /** A copy of a column as a Bloom filter. */
  columnFilter(column: number): BloomFilter {
    this.#checkColumn(column);
    const filter = this.#emptyColumn();
    this.#bits.read(column, wordsOf(filter));
    return filter;
  }

  /**
   * Begins to build a column again, in slices; see column-rebuild.ts. The column answers from its
   * old keys until the new ones are written. An earlier rebuild of the column is cancelled.
   */
  rebuild(column: number): ColumnRebuild {
    this.#cancelRebuild(column);
    const rebuild = new ColumnRebuild(column, this.#emptyColumn(), (next, from, to) => {
      this.#bits.write(column, wordsOf(next), from, to);
      if (to === this.rows) this.#rebuilds.delete(column);
    });
    this.#rebuilds.set(column, rebuild);
    return rebuild;
  }

  /** Adds columns, empty and not masked, until there are this many. May copy the whole table. */
  grow(columns: number): void {
    checkInteger('columns', columns, this.#columns, MAX_COLUMNS);
    if (columns > this.#bits.room) this.#bits = this.#bits.widened(columns);
    while (this.#columns < columns) this.#bits.setLive(this.#columns++, true);
  }

  /**
   * Halves the rows, which must be even. Each column becomes the filter of half the size with the
   * same keys (survey 2.4), so no key is lost, and false candidates become more. Rebuilds are
   * cancelled.
   */
  fold(): void {
    if (this.rows % 2 !== 0) {
      throw new RangeError(`Cannot fold: expected an even number of rows, got ${this.rows}`);
    }
    for (const column of [...this.#rebuilds.keys()]) this.#cancelRebuild(column);
    this.#bits = this.#bits.folded();
  }

  /** The share of a column's bits that are 1. After `fold` the first call reads the column. */
  columnFill(column: number): number {
    return this.#onesOf(column) / this.rows;
  }

  /** Estimates how many distinct keys a column holds, from its zeros (survey 2.4). */
  estimatedSize(column: number): number {
    return sizeFromOnes(this.rows, this.#onesOf(column), decayOf(this.hashes, 1 / this.rows));
  }

  /** Estimates the false positive rate of a column from its fill. */
  estimatedFalsePositiveRate(column: number): number {
    return rateFromOnes(this.rows, this.#onesOf(column), this.hashes);
  }

  /**
   * Estimates how many columns answer "maybe" for a key that none of them holds: the sum of the
   * rates of the columns that are not masked.
   */
  estimatedFalseCandidates(): number {
    let sum = 0;
    for (let column = 0; column < this.#columns; column++) {
      if (!this.isMasked(column)) sum += this.estimatedFalsePositiveRate(column);
    }
    return sum;
  }

  toString(): string {
    return `FilterTable(${this.rows} rows, ${this.hashes} hashes, ${this.#columns} columns, ${this.scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #checkColumn(column: number): void {
    // `checkInteger` writes its message before it decides, which would double the time of an add.
    if (!(Number.isInteger(column) && column >= 0 && column < this.#columns)) {
      checkInteger('column', column, 0, this.#columns - 1);
    }
  }

  #onesOf(column: number): number {
    this.#checkColumn(column);
    return this.#bits.onesOf(column);
  }

  #cancelRebuild(column: number): void {
    this.#checkColumn(column);
    this.#rebuilds.get(column)?.cancel();
    this.#rebuilds.delete(column);
  }

  #emptyColumn(): BloomFilter {
    const { rows: bits, hashes } = this;
    return new BloomFilter({ bits, hashes }, BitStore.allocate(bits), this.scheme);
  }

  /** The bits of a filter that can be a column. */
  #wordsToSet(filter: BloomFilter): Uint32Array {
    const { bits, hashes, layout, scheme } = filter;
    const same = bits === this.rows && hashes === this.hashes && scheme.id === this.scheme.id;
    if (!same || layout !== 'classic') {
      throw new RangeError(
        `Cannot set a column: expected ${this.rows} bits, ${this.hashes} hashes, classic, ${this.scheme.id}, got ${filter}`,
      );
    }
    return wordsOf(filter);
  }
}

const OPTIONS = ['rows', 'hashes', 'columns', 'seed', 'key', 'hash'];

/**
 * The words of a filter's bits, without a copy: `encode` passes its own words to the writer of a
 * frame.
 */
function wordsOf(filter: BloomFilter): Uint32Array {
  const length = Math.ceil(filter.bits / 32);
  const bytes = filter.encode((_kind, { payload }) => payload.subarray(0, 4 * length));
  return new Uint32Array(bytes.buffer, bytes.byteOffset, length);
}
