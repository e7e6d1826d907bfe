/** Joins ranges that lie near each other, so that they cost one request. */

import type { ByteRange } from '@bloomery/stores/text';

/** A request costs about as much as this many bytes, so a smaller gap is read as well. */
const NEAR = 16 << 10;

/** Joined ranges in rising order. They are not longer than `longest` unless one of them was. */
export function joinRanges(
  ranges: readonly ByteRange[],
  longest: number = Number.POSITIVE_INFINITY,
): ByteRange[] {
  const joined: { offset: number; length: number }[] = [];
  for (const { offset, length } of [...ranges].sort((a, b) => a.offset - b.offset)) {
    if (length === 0) continue;
    const last = joined.at(-1);
    const both = last === undefined ? 0 : Math.max(last.length, offset + length - last.offset);
    if (last !== undefined && offset <= last.offset + last.length + NEAR && both <= longest)
      last.length = both;
    else joined.push({ offset, length });
  }
  return joined;
}

/** Cuts long ranges, so that each fits into memory. */
export function cutRanges(ranges: readonly ByteRange[], longest: number): ByteRange[] {
  return ranges.flatMap(({ offset, length }) =>
    Array.from({ length: Math.ceil(length / longest) }, (_, i) => ({
      offset: offset + i * longest,
      length: Math.min(longest, length - i * longest),
    })),
  );
}
