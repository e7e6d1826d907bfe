/**
 * Byte ranges: what a request asks for (RFC 9110, 14.1.1, 14.2), and what a response has (14.4).
 *
 * A Range that is not understood, or that asks for too much work, is ignored, and the whole is sent: that is always right (14.2: a server
 * may ignore Range). Too much work is more than `MAX_RANGES` ranges; those that overlap or touch are joined (15.3.7.2). So no answer is
 * longer than the whole and 32 short heads: a few hundred bytes of request that ask for the same megabyte a thousand times are an old
 * attack (17.15).
 */

/** Bytes `start` to `end`, `end` not included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** More than any known client asks for at once. */
export const MAX_RANGES = 32;

/**
 * What to send of `length` bytes. `'all'`: the Range is to be ignored. `'none'`: no range lies within, 416. Else at least one range, in
 * the order asked for, none empty, none overlapping another.
 */
export function requestedRanges(value: string, length: number): ByteRange[] | 'all' | 'none' {
  const specs = parseRange(value);
  if (specs === null) return 'all';
  const ranges: ByteRange[] = [];
  for (const { first, last } of specs) {
    // A suffix: `-5` is the last five bytes, or all if there are fewer.
    const start = first === null ? Math.max(0, length - last!) : first;
    const end = first === null || last === null ? length : Math.min(length, last + 1);
    if (start < end) ranges.push({ start, end });
  }
  if (ranges.length === 0) return 'none';
  return ranges.length === 1 ? ranges : joined(ranges);
}

export interface RangeSpec {
  /** Null: a suffix of `last` bytes. */
  readonly first: number | null;
  /** The last byte, included; null: to the end. */
  readonly last: number | null;
}

/** Null: not bytes, malformed, or too many. */
export function parseRange(value: string): RangeSpec[] | null {
  // Not longer than 32 ranges of two 15-digit numbers can be.
  if (value.length > 2048) return null;
  const equals = value.indexOf('=');
  // 14.2: a unit is compared without regard to case.
  if (equals < 0 || value.slice(0, equals).trim().toLowerCase() !== 'bytes') return null;
  const specs: RangeSpec[] = [];
  for (const part of value.slice(equals + 1).split(',')) {
    const text = part.trim();
    if (text === '') continue;
    const match = SPEC.exec(text);
    if (match === null) return null;
    const first = match[1] === '' ? null : Number(match[1]);
    const last = match[2] === '' ? null : Number(match[2]);
    // 14.1.1: `-` alone, and a last byte before the first, make the whole field invalid.
    if ((first === null && last === null) || (first !== null && last !== null && last < first)) return null;
    specs.push({ first, last });
    if (specs.length > MAX_RANGES) return null;
  }
  return specs.length === 0 ? null : specs;
}

/** Fifteen digits are exact as a number; nobody has more bytes than that. */
const SPEC = /^(\d{0,15})-(\d{0,15})$/;

/** Of Content-Range: which bytes of how many. Null: unreadable, unsatisfied, of unknown length, or a contradiction. */
export function parseContentRange(value: string): (ByteRange & { readonly total: number }) | null {
  const match = CONTENT_RANGE.exec(value);
  if (match === null) return null;
  const start = Number(match[1]);
  const end = Number(match[2]) + 1;
  const total = Number(match[3]);
  // 14.4: a last byte before the first, or behind the length, makes it invalid: it must not be used to put bytes together.
  return start < end && end <= total ? { start, end, total } : null;
}

const CONTENT_RANGE = /^bytes[ \t]+(\d{1,15})-(\d{1,15})\/(\d{1,15})$/i;

export function formatContentRange(range: ByteRange, total: number): string {
  return `bytes ${range.start}-${range.end - 1}/${total}`;
}

/** One pass for each range over those so far, at most 32 of them. What is there never touches itself, so one pass finds all it joins. */
function joined(ranges: readonly ByteRange[]): ByteRange[] {
  const result: ByteRange[] = [];
  for (const range of ranges) {
    let { start, end } = range;
    let place = result.length;
    for (let i = result.length - 1; i >= 0; i--) {
      const other = result[i]!;
      if (range.start > other.end || range.end < other.start) continue;
      start = Math.min(start, other.start);
      end = Math.max(end, other.end);
      result.splice(i, 1);
      place = i;
    }
    result.splice(place, 0, { start, end });
  }
  return result;
}
