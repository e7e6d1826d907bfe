/**
 * Byte ranges: which bytes a request asks for (RFC 9110, 14.1.1, 14.2), and which a response has
 * (14.4).
 *
 * A Range that is not understood, or that asks for too much work, is ignored, and the whole
 * representation is sent. That is always correct (14.2: a server may ignore Range). Too much work
 * means more than `MAX_RANGES` ranges. Ranges that overlap or touch are joined (15.3.7.2). An
 * answer is therefore never longer than the whole representation and 32 short heads. This prevents
 * a known attack, in which a few hundred bytes of request ask for the same megabyte a thousand
 * times (17.15).
 */

/** The bytes from `start` to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Maximum number of ranges per request, more than any known client asks for at once. */
export const MAX_RANGES = 32;

/**
 * The ranges to send out of `length` bytes. `'all'`: the Range must be ignored. `'none'`: no range
 * is satisfiable, so the answer is 416. Otherwise the result holds at least one range, in the
 * requested order, none empty and none overlapping another.
 */
export function requestedRanges(value: string, length: number): ByteRange[] | 'all' | 'none' {
  const specs = parseRange(value);
  if (specs === null) return 'all';
  const ranges: ByteRange[] = [];
  for (const { first, last } of specs) {
    // A suffix: `-5` means the last five bytes, or all bytes if there are fewer.
    const start = first === null ? Math.max(0, length - last!) : first;
    const end = first === null || last === null ? length : Math.min(length, last + 1);
    if (start < end) ranges.push({ start, end });
  }
  if (ranges.length === 0) return 'none';
  return ranges.length === 1 ? ranges : joined(ranges);
}

interface RangeSpec {
  /** The first byte, or null for a suffix of `last` bytes. */
  readonly first: number | null;
  /** The last byte (inclusive), or null for all bytes up to the end. */
  readonly last: number | null;
}

/**
 * Parses a Range. Returns null if the unit is not bytes, the value is malformed, or there are too
 * many ranges.
 */
export function parseRange(value: string): RangeSpec[] | null {
  // 32 ranges of two 15-digit numbers each cannot be longer.
  if (value.length > 2048) return null;
  const equals = value.indexOf('=');
  // 14.2: units are case-insensitive.
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

/** Numbers of up to fifteen digits are exact, and no representation has more bytes. */
const SPEC = /^(\d{0,15})-(\d{0,15})$/;

/**
 * Parses a Content-Range: which bytes, of how many. Returns null if it is unreadable, unsatisfied,
 * of unknown length, or contradictory.
 */
export function parseContentRange(value: string): (ByteRange & { readonly total: number }) | null {
  const match = CONTENT_RANGE.exec(value);
  if (match === null) return null;
  const start = Number(match[1]);
  const end = Number(match[2]) + 1;
  const total = Number(match[3]);
  // 14.4: a last byte before the first, or beyond the length, makes the field invalid: it must not
  // be used to combine bytes.
  return start < end && end <= total ? { start, end, total } : null;
}

const CONTENT_RANGE = /^bytes[ \t]+(\d{1,15})-(\d{1,15})\/(\d{1,15})$/i;

export function formatContentRange(range: ByteRange, total: number): string {
  return `bytes ${range.start}-${range.end - 1}/${total}`;
}

/**
 * Joins ranges that overlap or touch. Each range is compared once with the at most 32 results so
 * far. The results never touch each other, so one pass finds all that a new range joins.
 */
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
