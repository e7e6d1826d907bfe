/**
 * Responses of which only some bytes are here (RFC 9111, 3.3 and 3.4): whether they are enough, how to ask for the others, and how two
 * parts make a larger one.
 *
 * Parts are put together only if both carry the same strong validator (3.4): a strong ETag here. Two parts of a resource that changed in
 * between would otherwise make a body that never existed. So a part without a strong ETag serves the ranges it has and is never
 * completed. (Some conformance tests want the missing bytes asked for in any case; what comes could not be used.)
 *
 * Kept is one interval of bytes. Two parts with a gap between them are not put together: the newer one is kept.
 */

import { isStrongTag, stronglyEqual } from './conditions.ts';
import { withoutFields } from './fields.ts';
import type { RequestHead } from './message-head.ts';
import type { PolicyOptions } from './policy-options.ts';
import { type ByteRange, formatContentRange, requestedRanges } from './ranges.ts';
import type { StoredResponse } from './stored-response.ts';
import { expectedBodyLength, redescribed } from './storing.ts';
import { updatedFields } from './updating.ts';

/** The bytes of the whole that a stored response has. */
export function storedInterval(stored: StoredResponse): ByteRange {
  const length = stored.bodyLength >= 0 ? stored.bodyLength : Math.max(0, expectedBodyLength(stored) ?? 0);
  const start = stored.range === null ? 0 : stored.range.start;
  return { start, end: start + length };
}

/** Whether a partial response has all bytes that a Range asks for. A Range that is ignored asks for all. */
export function hasRanges(stored: StoredResponse, range: string): boolean {
  if (stored.range === null) return true;
  const ranges = requestedRanges(range, stored.range.total);
  if (ranges === 'all') return false;
  if (ranges === 'none') return true;
  const has = storedInterval(stored);
  return ranges.every((wanted) => wanted.start >= has.start && wanted.end <= has.end);
}

/** Whether one more request can bring all that is missing, in a way that it can be used. */
export function canComplete(stored: StoredResponse): boolean {
  if (stored.range === null || stored.etag === null || !isStrongTag(stored.etag)) return false;
  const has = storedInterval(stored);
  const { total } = stored.range;
  return has.end > has.start && (has.start === 0) !== (has.end === total);
}

/**
 * The fields of a request for the missing bytes, instead of the client's: with If-Range, so that the origin sends all of it if it changed
 * (RFC 9110, 13.1.5). Null: it cannot be completed. They go through `requestFieldsToForward`, as all do.
 */
export function completionFields(request: RequestHead, stored: StoredResponse): string[] | null {
  if (!canComplete(stored)) return null;
  const has = storedInterval(stored);
  const fields = withoutFields(request.headers, REPLACED);
  fields.push('Range', has.start === 0 ? `bytes=${has.end}-` : `bytes=0-${has.start - 1}`);
  fields.push('If-Range', stored.etag!);
  return fields;
}

/** Bytes of one of the two, counted within what that one has. */
export interface Piece extends ByteRange {
  readonly from: 'old' | 'new';
}

export interface Combination {
  /** What the pieces make: 200 and no `range` if that is all of it. `bodyLength` is known. */
  readonly response: StoredResponse;
  readonly pieces: readonly Piece[];
}

/**
 * An old part and a new one of the same representation, as one. Null: they are not of the same, or there is a gap between them. The new
 * one comes from `toStore` and need not have its body yet; where both have a byte, the new one's is taken.
 */
export function combine(
  old: StoredResponse,
  fresh: StoredResponse,
  request: RequestHead,
  options: PolicyOptions,
): Combination | null {
  if (fresh.range === null) return null;
  // 3.4: the same strong validator, and (RFC 9110, 14.4) the same length of the whole.
  if (old.etag === null || fresh.etag === null || !stronglyEqual(old.etag, fresh.etag)) return null;
  const total = fresh.range.total;
  if ((old.range === null ? old.bodyLength : old.range.total) !== total) return null;
  const before = storedInterval(old);
  const now = storedInterval(fresh);
  if (before.start > now.end || now.start > before.end) return null;
  const start = Math.min(before.start, now.start);
  const end = Math.max(before.end, now.end);
  const pieces: Piece[] = [];
  if (before.start < now.start) pieces.push({ from: 'old', start: 0, end: now.start - before.start });
  pieces.push({ from: 'new', start: 0, end: now.end - now.start });
  if (before.end > now.end) {
    pieces.push({ from: 'old', start: now.end - before.start, end: before.end - before.start });
  }
  const whole = start === 0 && end === total;
  // 3.4: the new fields take the place of the old, except Content-Range; and the length is that of what is now here.
  const headers = withoutFields(updatedFields(old.headers, fresh.headers), LENGTHS);
  headers.push('Content-Length', String(end - start));
  if (!whole) headers.push('Content-Range', formatContentRange({ start, end }, total));
  const response = redescribed(
    {
      key: old.key,
      status: whole ? 200 : 206,
      statusText: whole ? 'OK' : 'Partial Content',
      varied: fresh.varied,
      range: whole ? null : { start, total },
      bodyLength: end - start,
    },
    headers,
    NO_FIELDS,
    request,
    fresh,
    options,
  );
  return { response: { ...response, initialAgeMs: fresh.initialAgeMs }, pieces };
}

const NO_FIELDS: readonly string[] = [];
const LENGTHS: ReadonlySet<string> = new Set(['content-length', 'content-range']);
const REPLACED: ReadonlySet<string> = new Set(['range', 'if-range', 'if-none-match', 'if-modified-since']);
