/**
 * A recorded request: four words of 32 bits. The first two are its time as a double, then come the
 * numbers of object and client. Records are read and written through two views of the same memory.
 */

export const RECORD_WORDS = 4;

export interface RecordViews {
  readonly words: Int32Array;
  /** The same memory as doubles: the time of record i is at 2i. */
  readonly times: Float64Array;
}

export function recordViews(words: Int32Array): RecordViews {
  return { words, times: new Float64Array(words.buffer, words.byteOffset, words.length / 2) };
}
