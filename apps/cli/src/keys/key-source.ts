/** Keys from files or standard input, chunk by chunk, in order: what the commands for smaller jobs use. */

import type { KeyBatch } from 'bloomery';
import { BufferPool } from './buffer-pool.ts';
import { type ColumnNames, extractKeys } from './extract-keys.ts';
import { inputsOf } from './input.ts';
import type { KeyOptions } from './key-options.ts';
import { recordChunks } from './record-chunks.ts';

export { type KeyOptions, withKeyOptions } from './key-options.ts';

export interface KeyChunk {
  readonly path: string;
  /** The records as they stand in the input. */
  readonly records: Uint8Array;
  /** A key for each record: for `addMany` and `hasMany`. */
  readonly keys: KeyBatch;
  readonly count: number;
  /** Where each record ends; null: with each newline. */
  readonly ends: Uint32Array | null;
  /** Where the first record begins, behind a header. */
  readonly start: number;
}

/** No paths, or `-`: standard input. All files are looked at before the first is read. */
export async function* readKeys(
  paths: readonly string[],
  options: KeyOptions = {},
  onRead?: (bytes: number) => void,
): AsyncGenerator<KeyChunk> {
  const columns: ColumnNames = new Map();
  for (const input of inputsOf(paths)) {
    // Its buffers are not used again: who asks for keys may keep them.
    for await (const chunk of recordChunks(input, options, new BufferPool(0), onRead)) {
      yield { path: chunk.path, records: chunk.bytes, ...extractKeys(chunk, options, columns) };
    }
  }
}
