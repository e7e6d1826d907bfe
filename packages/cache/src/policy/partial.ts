/**
 * Responses of which only some bytes are stored (RFC 9111, 3.3 and 3.4): whether those bytes are
 * sufficient, how to ask for the others, and how to combine two parts into a larger one.
 *
 * Parts are combined only if both carry the same strong validator (3.4), here a strong ETag.
 * Otherwise two parts of a resource that changed in between would form a body that never existed. A
 * part without a strong ETag therefore serves the ranges that it has and is never completed. (Some
 * conformance tests expect a request for the missing bytes in any case; its response could not be
 * used.)
 *
 * Only one interval of bytes is stored. Two parts with a gap between them are not combined: the
 * newer one is kept.
 */

import { isStrongTag, stronglyEqual } from './conditions.ts';
import { withoutFields } from './fields.ts';
import type { RequestHead } from './message-head.ts';
import type { PolicyOptions } from './policy-options.ts';
import { type ByteRange, formatContentRange, requestedRanges } from './ranges.ts';
import type { StoredResponse } from './stored-response.ts';
import { expectedBodyLength, redescribed } from './storing.ts';
import { updatedFields } from './updating.ts';

/** The interval of the whole representation that a stored response holds. */
export function storedInterval(stored: StoredResponse): ByteRange {
  const length = stored.bodyLength >= 0 ? stored.bodyLength : Math.max(0, expectedBodyLength(stored) ?? 0);
  const start = stored.range === null ? 0 : stored.range.start;
  return { start, end: start + length };
}

/**
 * Whether a partial response has all bytes that a Range asks for. A Range that must be ignored asks
 * for the whole.
 */
export function hasRanges(stored: StoredResponse, range: string): boolean {
  if (stored.range === null) return true;
  const ranges = requestedRanges(range, stored.range.total);
  if (ranges === 'all') return false;
  if (ranges === 'none') return true;
  const has = storedInterval(stored);
  return ranges.every((wanted) => wanted.start >= has.start && wanted.end <= has.end);
}

/** Whether a single request can bring all missing bytes, and the result can be combined. */
export function canComplete(stored: StoredResponse): boolean {
  if (stored.range === null || stored.etag === null || !isStrongTag(stored.etag)) return false;
  const has = storedInterval(stored);
  const { total } = stored.range;
  return has.end > has.start && (has.start === 0) !== (has.end === total);
}

/**
 * The fields of a request for the missing bytes, derived from the client's, or null if the response
 * cannot be completed. If-Range makes the origin send the whole representation if it changed (RFC
 * 9110, 13.1.5). The result still goes through `requestFieldsToForward`, like all requests.
 */
export function completionFields(request: RequestHead, stored: StoredResponse): string[] | null {
  if (!canComplete(stored)) return null;
  const has = storedInterval(stored);
  const fields = withoutFields(request.headers, REPLACED);
  fields.push('Range', has.start === 0 ? `bytes=${has.end}-` : `bytes=0-${has.start - 1}`);
  fields.push('If-Range', stored.etag!);
  return fields;
}

/**
 * Bytes of one of the two responses. Offsets count from the start of that response's stored bytes.
 */
export interface Piece extends ByteRange {
  readonly from: 'old' | 'new';
}

export interface Combination {
  /** The combined response: status 200 and no `range` if it is complete. `bodyLength` is known. */
  readonly response: StoredResponse;
  readonly pieces: readonly Piece[];
}

/**
 * Combines an old part and a new one of the same representation. Returns null if they belong to
 * different representations, or if there is a gap between them. The new part comes from `toStore`
 * and need not have its body yet. Where both have a byte, the new part's byte is used.
 */
export function combine(
  old: StoredResponse,
  fresh: StoredResponse,
  request: RequestHead,
  options: PolicyOptions,
): Combination | null {
  if (fresh.range === null) return null;
  // 3.4: the same strong validator, and (RFC 9110, 14.4) the same total length.
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
  // 3.4: new fields replace old ones, except Content-Range; the length is that of the combined
  // bytes.
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
      flags: old.flags & fresh.flags,
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
