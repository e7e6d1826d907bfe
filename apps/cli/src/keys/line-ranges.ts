/**
 * Splits a plain file of lines into ranges that any thread can read in any order. A range stands
 * for the lines that begin in it. So the reader of a range skips the rest of a line that began
 * before it, and reads on to the end of its last line.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { BufferPool } from './buffer-pool.ts';
import { LONGEST_RECORD, longRecord } from './record-limit.ts';

export interface LineRange {
  readonly path: string;
  /** Size of the whole file. */
  readonly size: number;
  /** The first byte of the range. `to` is the byte after its last. */
  readonly from: number;
  readonly to: number;
}

/** Room after a range for the rest of a line of usual length. */
const SLACK = 1 << 13;
export const RANGE = (1 << 19) - SLACK - 1;

export function* lineRanges(path: string, size: number, length: number = RANGE): Generator<LineRange> {
  for (let from = 0; from < size; from += length)
    yield { path, size, from, to: Math.min(size, from + length) };
}

/**
 * The number of bytes that are read and processed at once if the records need not stay in memory.
 */
export const BLOCK = (1 << 17) - SLACK - 1;

/** Splits a range into blocks. */
export function* blocksOf(range: LineRange): Generator<LineRange> {
  for (let { from } = range; from < range.to; from += BLOCK) {
    yield { ...range, from, to: Math.min(range.to, from + BLOCK) };
  }
}

/** Reads ranges of files, and opens each file once. */
export class RangeReader {
  readonly #open = new Map<string, number>();
  readonly #buffers = new BufferPool(1 << 17);

  /** Returns the lines that begin in a block, in memory that the next call overwrites. */
  readBlock(range: LineRange): Uint8Array {
    const bytes = this.read(range, this.#buffers);
    this.#buffers.give(bytes);
    return bytes;
  }

  /** Returns the lines that begin in the range, with their ends. */
  read({ path, size, from, to }: LineRange, buffers: BufferPool): Uint8Array<ArrayBuffer> {
    const descriptor = this.#descriptorOf(path);
    // The byte before the range tells whether a line begins exactly at its start.
    const start = Math.max(0, from - 1);
    let bytes = buffers.take(Math.min(size, to + SLACK) - start);
    let length = 0;
    for (;;) {
      length += fill(
        descriptor,
        bytes.subarray(length, Math.min(bytes.length, size - start)),
        start + length,
      );
      const begin = from === 0 ? 0 : bytes.subarray(0, length).indexOf(NEWLINE) + 1;
      const whole = start + length >= size || length < Math.min(bytes.length, size - start);
      // No line begins here.
      if (from > 0 && (begin === 0 || start + begin >= to)) return bytes.subarray(0, 0);
      const last = bytes.subarray(0, length).indexOf(NEWLINE, to - 1 - start);
      if (last >= 0) return bytes.subarray(begin, last + 1);
      if (whole) return bytes.subarray(begin, length);
      if (length > LONGEST_RECORD) throw longRecord(path, 'line');
      const longer = new Uint8Array(2 * bytes.length);
      longer.set(bytes.subarray(0, length));
      bytes = longer;
    }
  }

  /** The first bytes of a file. */
  head(path: string): Uint8Array {
    const bytes = new Uint8Array(65536);
    return bytes.subarray(0, fill(this.#descriptorOf(path), bytes, 0));
  }

  close(): void {
    for (const descriptor of this.#open.values()) closeSync(descriptor);
    this.#open.clear();
  }

  #descriptorOf(path: string): number {
    let descriptor = this.#open.get(path);
    if (descriptor === undefined) {
      descriptor = openSync(path, 'r');
      this.#open.set(path, descriptor);
    }
    return descriptor;
  }
}

const NEWLINE = 10;

function fill(descriptor: number, into: Uint8Array, position: number): number {
  let got = 0;
  while (got < into.length) {
    const length = readSync(descriptor, into, got, into.length - got, position + got);
    if (length === 0) break;
    got += length;
  }
  return got;
}
