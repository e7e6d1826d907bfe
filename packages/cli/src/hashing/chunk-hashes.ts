/** What becomes of a chunk of records, in a worker or here: the hashes of its keys, and where its records end. */

import { type HashScheme, hashKeys } from 'bloomery';
import { type ColumnNames, extractKeys } from '../keys/extract-keys.ts';
import { isWholeLine, type KeyOptions } from '../keys/key-options.ts';
import { lineEnds } from '../keys/newlines.ts';
import type { RecordChunk } from '../keys/record-chunks.ts';

export interface HashedRecords {
  readonly path: string;
  /** The records as they stand in the input. */
  readonly records: Uint8Array<ArrayBuffer>;
  readonly count: number;
  /** Where each record ends; null: nobody wanted to know, and it is with each newline. */
  readonly ends: Uint32Array | null;
  /** Where the first record begins, behind a header. */
  readonly start: number;
  /** Of `hashKeys`. */
  readonly words: Int32Array;
}

export function hashRecords(
  chunk: RecordChunk,
  options: KeyOptions,
  columns: ColumnNames,
  scheme: HashScheme,
  wantsEnds: boolean,
): HashedRecords {
  const { path, bytes: records } = chunk;
  // Whole lines need not be counted first.
  const { keys, ends, start } = isWholeLine(options)
    ? { keys: { lines: records }, ends: null, start: 0 }
    : extractKeys(chunk, options, columns);
  const { words, length: count } = hashKeys(keys, scheme);
  return { path, records, count, ends: wantsEnds ? (ends ?? lineEnds(records, count)) : ends, start, words };
}
