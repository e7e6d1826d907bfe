/** Gathers the selected records, a run of neighbouring records at a time. */

export interface Records {
  readonly records: Uint8Array;
  readonly count: number;
  /** Ends of the records. */
  readonly ends: Uint32Array;
  /** Start of the first record, after a header if there is one. */
  readonly start: number;
}

/**
 * Moves the records whose answer is `wanted` to the front of their buffer. Returns them and their
 * number.
 */
export function gather(
  { records, ends, start }: Records,
  answers: Uint8Array,
  wanted: 0 | 1,
): { chosen: Uint8Array; count: number } {
  let used = 0;
  let count = 0;
  for (let i = 0; i < answers.length; ) {
    if (answers[i] !== wanted) {
      i++;
      continue;
    }
    const first = i;
    while (i < answers.length && answers[i] === wanted) i++;
    const from = first === 0 ? start : ends[first - 1];
    const to = ends[i - 1];
    if (from !== used) records.copyWithin(used, from, to);
    used += to - from;
    count += i - first;
  }
  return { chosen: records.subarray(0, used), count };
}
