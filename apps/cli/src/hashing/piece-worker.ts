/**
 * Counts or hashes a piece of the input, on a worker or on the main thread.
 *
 * A range of a file is read in blocks of 128 KiB into one buffer, and each block is hashed at once,
 * while it is still in the processor's cache. With buffers that do not fit into the cache, reading
 * alone takes four times as long. Only a caller that prints records needs all of them to stay in
 * memory.
 */

import { countLines, type HashScheme, hashKeys, lineEnds } from 'bloomery';
import type { BufferPool } from '../keys/buffer-pool.ts';
import { type ColumnNames, extractKeys, NONE_SKIPPED } from '../keys/extract-keys.ts';
import { isWholeLine, type KeyOptions } from '../keys/key-options.ts';
import { blocksOf, type LineRange, type RangeReader } from '../keys/line-ranges.ts';
import type { RecordChunk } from '../keys/record-chunks.ts';

/** Records that were read, or the range of a file to read them from. */
export type RecordPiece = { readonly chunk: RecordChunk } | { readonly range: LineRange };

export interface CountedRecords {
  /** The buffer of the records, which can be reused. */
  readonly records: Uint8Array<ArrayBuffer>;
  readonly count: number;
}

export interface HashedRecords extends CountedRecords {
  readonly path: string;
  /** The records as they stand in the input, if their ends were wanted. */
  readonly records: Uint8Array<ArrayBuffer>;
  /** Ends of the records, or null if they were not wanted. */
  readonly ends: Uint32Array | null;
  /** Start of the first record, after a header if there is one. */
  readonly start: number;
  /** Records without a key, and the places of the others: see `ChunkKeys`. */
  readonly skipped: number;
  readonly numbers: Uint32Array | null;
  /** The hashes, as returned by `hashKeys`. */
  readonly words: Int32Array;
}

/** Works on pieces, and holds the settings that all of them share. */
export class PieceWorker {
  readonly #options: KeyOptions;
  readonly #scheme: HashScheme;
  readonly #wantsEnds: boolean;
  readonly #reader: RangeReader;

  constructor(options: KeyOptions, scheme: HashScheme, wantsEnds: boolean, reader: RangeReader) {
    this.#options = options;
    this.#scheme = scheme;
    this.#wantsEnds = wantsEnds;
    this.#reader = reader;
  }

  count(piece: RecordPiece, columns: ColumnNames): CountedRecords {
    if ('chunk' in piece) {
      const { chunk } = piece;
      const whole = isWholeLine(this.#options);
      const count = whole ? countLines(chunk.bytes) : extractKeys(chunk, this.#options, columns).count;
      return { records: chunk.bytes, count };
    }
    let count = 0;
    for (const block of blocksOf(piece.range)) count += countLines(this.#reader.readBlock(block));
    return { records: NOTHING, count };
  }

  /**
   * Hashes a piece. `buffers` is for records that stay in memory, `room` for the hashes if it is
   * large enough.
   */
  hash(
    piece: RecordPiece,
    columns: ColumnNames,
    buffers: BufferPool,
    room: Int32Array = new Int32Array(0),
  ): HashedRecords {
    if ('chunk' in piece) return this.#hashChunk(piece.chunk, columns);
    const { path } = piece.range;
    if (this.#wantsEnds) {
      const bytes = this.#reader.read(piece.range, buffers);
      return this.#hashChunk({ path, bytes, first: false }, columns);
    }
    const words = this.#hashBlocks(piece.range, room);
    return { path, records: NOTHING, count: words.length / 2, ends: null, start: 0, words, ...NONE_SKIPPED };
  }

  /** Returns the hashes of all blocks of a range, one after the other. */
  #hashBlocks(range: LineRange, room: Int32Array): Int32Array {
    let words = room;
    let used = 0;
    for (const block of blocksOf(range)) {
      const free = words.subarray(used);
      const found = hashKeys({ lines: this.#reader.readBlock(block) }, this.#scheme, free).words;
      if (found.buffer !== words.buffer) {
        if (used + found.length > words.length) {
          const larger = new Int32Array(Math.max(2 * words.length, used + found.length));
          larger.set(words.subarray(0, used));
          words = larger;
        }
        words.set(found, used);
      }
      used += found.length;
    }
    return words.subarray(0, used);
  }

  #hashChunk(chunk: RecordChunk, columns: ColumnNames): HashedRecords {
    const { path, bytes: records } = chunk;
    // Whole lines need not be counted first.
    const { keys, ends, start, skipped, numbers } = isWholeLine(this.#options)
      ? { keys: { lines: records }, ends: null, start: 0, ...NONE_SKIPPED }
      : extractKeys(chunk, this.#options, columns);
    const { words, length: count } = hashKeys(keys, this.#scheme);
    const wanted = this.#wantsEnds ? (ends ?? lineEnds(records)) : ends;
    return { path, records, count, ends: wanted, start, words, skipped, numbers };
  }
}

const NOTHING = new Uint8Array(0);
