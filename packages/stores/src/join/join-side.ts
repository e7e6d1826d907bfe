/**
 * The port of a join: a table that can be read, and perhaps a server that filters by itself. All
 * values are texts or null. PostgreSQL gives them in its own text form; SQLite and files follow it.
 */

import type { KeyType } from './join-key.ts';
import type { PushdownFilter } from './pushdown-filter.ts';

export type Row = readonly (string | null)[];

/** The columns of a request, each once. */
export interface Fields {
  readonly names: readonly string[];
  /** The places of the key's columns in `names`. */
  readonly keys: readonly number[];
  /** The types of the key's columns. Values of these columns are in PostgreSQL's text form. */
  readonly types: readonly KeyType[];
}

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Rows of a table, and those of them that pass the first slice of a filter. */
export interface SliceCount {
  readonly rows: number;
  readonly passed: number;
  /** Present if the counts above were scaled up from a sample of the table. */
  readonly sample?: SliceSample | undefined;
}

/** A sample in groups, from whose differences the error of the sample follows. */
export interface SliceSample {
  /** The share of the table in the sample. */
  readonly share: number;
  /** Counts in the sample, for each group. */
  readonly groups: readonly { readonly rows: number; readonly passed: number }[];
}

/** The cost of rows on the wire. */
export interface RowCost {
  /** Bytes of a row, with the frame of the protocol. */
  readonly rowBytes: number;
  /**
   * Rows that share the key of a row, on average over rows, as the server's statistics say. It is 1
   * for unique keys, and large if a few keys have most of the rows.
   */
  readonly rowsPerKey: number;
}

/** A server that filters its own rows. */
export interface FilteringServer {
  /** Rejects if its hash functions are not those of the port. */
  verify(options: ReadOptions): Promise<void>;
  /** Counts rows, in a sample of a large table if `sampled` is set. */
  count(
    fields: Fields,
    slice: PushdownFilter,
    options: ReadOptions & { readonly sampled: boolean },
  ): Promise<SliceCount>;
  cost(fields: Fields, rows: number, options: ReadOptions): Promise<RowCost>;
  readPassing(fields: Fields, filter: PushdownFilter, options: ReadOptions): AsyncIterable<readonly Row[]>;
  /** Reads the rows with one of these keys: the text of an array for each column of the key. */
  readMatching(fields: Fields, keys: readonly string[], options: ReadOptions): AsyncIterable<readonly Row[]>;
}

export interface JoinSide {
  /** The name for messages. */
  readonly name: string;
  /**
   * Types of the key's columns; null for a file, whose columns take the type of the other side.
   * Rejects if one of `columns` does not exist.
   */
  keyTypes(
    on: readonly string[],
    columns: readonly string[],
    options: ReadOptions,
  ): Promise<readonly (KeyType | null)[]>;
  /** Reads all rows, in batches. */
  read(fields: Fields, options: ReadOptions): AsyncIterable<readonly Row[]>;
  /** Present if the rows lie on a server that can filter them. */
  readonly server?: FilteringServer;
}
