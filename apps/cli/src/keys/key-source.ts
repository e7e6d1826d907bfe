/**
 * Reads keys from files or standard input on one thread, chunk by chunk, in order. Commands for
 * smaller jobs use it.
 */

import type { KeyBatch } from 'bloomery';
import { BufferPool } from './buffer-pool.ts';
import { type ColumnNames, extractKeys, warnOfSkipped } from './extract-keys.ts';
import { inputsOf } from './input.ts';
import type { KeyOptions } from './key-options.ts';
import { recordChunks } from './record-chunks.ts';

export { type KeyOptions, withKeyOptions } from './key-options.ts';

export interface KeyChunk {
  readonly path: string;
  /** The records as they stand in the input. */
  readonly records: Uint8Array;
  /** A key for each record, as input for `addMany` and `hasMany`. */
  readonly keys: KeyBatch;
  readonly count: number;
  /** End of each record, or null if each newline ends one. */
  readonly ends: Uint32Array | null;
  /** Start of the first record, after a header if there is one. */
  readonly start: number;
  /** Records without a key, which are not among `records`. */
  readonly skipped: number;
  /** The place of each record among all of the chunk, from 0; null if none was skipped. */
  readonly numbers: Uint32Array | null;
}

/**
 * Yields the keys of the given paths. No paths, or `-`, mean standard input. All files are checked
 * before the first is read.
 */
export async function* readKeys(
  paths: readonly string[],
  options: KeyOptions = {},
  onRead?: (bytes: number) => void,
): AsyncGenerator<KeyChunk> {
  const columns: ColumnNames = new Map();
  for (const input of inputsOf(paths)) {
    let [skipped, count] = [0, 0];
    // Buffers are not reused, because the caller may keep the keys.
    for await (const chunk of recordChunks(input, options, new BufferPool(0), onRead)) {
      const found = extractKeys(chunk, options, columns);
      yield { path: chunk.path, records: chunk.bytes, ...found };
      skipped += found.skipped;
      count += found.count;
    }
    warnOfSkipped(input.path, { skipped, count }, options);
  }
}
