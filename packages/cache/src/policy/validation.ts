/**
 * Asks the origin whether a stored response is still valid, and applies its answer (RFC 9111, 4.3).
 *
 * The request carries the validators of the one stored response instead of the client's. A 304 can
 * then only mean that response, even from the many servers that omit ETag from a 304. The client's
 * own conditions are evaluated afterwards on the result (`answerFrom`).
 *
 * A 304 that names another representation than the one asked about updates nothing (4.3.4). The
 * proxy then asks again without conditions.
 */

import { hasStrongDate, isStrongTag, weaklyEqual } from './conditions.ts';
import { fieldValue, withoutFields } from './fields.ts';
import { dateOf, lastModifiedOf, NO_CACHE, type Times } from './freshness.ts';
import { formatHttpDate } from './http-date.ts';
import type { RequestHead, ResponseHead } from './message-head.ts';
import type { PolicyOptions } from './policy-options.ts';
import type { StoredResponse } from './stored-response.ts';
import { redescribed } from './storing.ts';
import { updatedFields } from './updating.ts';
import { variedBy } from './vary.ts';

/**
 * The client's fields with the stored validators in place of its own (4.3.1). The client's Range is
 * removed, because the whole is wanted, unless only a part is stored: then the request keeps the
 * client's Range. The result still goes through `requestFieldsToForward`, like all requests.
 */
export function validationFields(request: RequestHead, stored: StoredResponse): string[] {
  const fields = withoutFields(request.headers, stored.range === null ? CONDITIONS_AND_RANGE : CONDITIONS);
  // 4.3.1: the tag if there is one; Last-Modified as well, for servers that do not support tags.
  if (stored.etag !== null) fields.push('If-None-Match', stored.etag);
  if (stored.lastModified !== null)
    fields.push('If-Modified-Since', fieldValue(stored.headers, 'last-modified')!);
  return fields;
}

/** Whether the stored response has a validator, so that a conditional request is possible. */
export function hasValidator(stored: StoredResponse): boolean {
  return stored.etag !== null || stored.lastModified !== null;
}

/**
 * The stored response after a 304 (4.3.4), or null if the 304 is about another representation. In
 * that case nothing is updated, and the request must be made again without conditions. If `mayKeep`
 * is false for the result, the result answers this request and must then be removed from the store.
 */
export function freshen(
  stored: StoredResponse,
  request: RequestHead,
  response: ResponseHead,
  times: Times,
  options: PolicyOptions,
): StoredResponse | null {
  return response.status === 304 && isAbout(stored, response, times)
    ? updated(stored, request, response, times, options)
    : null;
}

/**
 * The stored response after a 200 to a HEAD that went to the origin (4.3.5), or null if the HEAD
 * says nothing about it. The response is updated if the HEAD describes the same bytes; otherwise it
 * must be validated before its next use.
 */
export function freshenByHead(
  stored: StoredResponse,
  request: RequestHead,
  response: ResponseHead,
  times: Times,
  options: PolicyOptions,
): StoredResponse | null {
  if (response.status !== 200 || stored.status !== 200 || stored.range !== null) return null;
  const etag = fieldValue(response.headers, 'etag');
  const lastModified = fieldValue(response.headers, 'last-modified');
  const length = fieldValue(response.headers, 'content-length');
  // The HEAD does not identify the body that it describes, so it gives no reason to keep the stored
  // one longer.
  if (etag === undefined && lastModified === undefined && length === undefined) return null;
  // 4.3.5: every validator in the response equals the stored one, and the length is the same.
  const same =
    (etag === undefined || etag === stored.etag) &&
    (lastModified === undefined || lastModified === fieldValue(stored.headers, 'last-modified')) &&
    (length === undefined || stored.bodyLength < 0 || Number(length) === stored.bodyLength);
  if (!same) return { ...stored, lifetimeMs: 0, staleWhileRevalidateMs: 0, flags: stored.flags | NO_CACHE };
  return updated(stored, request, response, times, options);
}

/** 4.3.4: whether a 304 is about this stored response, by the first of these rules that applies. */
function isAbout(stored: StoredResponse, response: ResponseHead, times: Times): boolean {
  const etag = fieldValue(response.headers, 'etag');
  const lastModified = lastModifiedOf(response.headers, times.responseTime);
  if (etag !== undefined && etag !== '') {
    if (stored.etag !== null) {
      // A strong tag identifies a representation, so the stored tag must be identical. Weak tags
      // are compared weakly.
      return isStrongTag(etag) && isStrongTag(stored.etag)
        ? etag === stored.etag
        : weaklyEqual(etag, stored.etag);
    }
    // The stored response has no tag and was validated by its date. The date must be the same, and
    // must be strong to outweigh an unknown strong tag.
    return (
      lastModified !== null &&
      lastModified === stored.lastModified &&
      (!isStrongTag(etag) || hasStrongDate(stored))
    );
  }
  if (lastModified !== null && stored.lastModified !== null) return lastModified === stored.lastModified;
  // The 304 has no validator, contrary to RFC 9110, 15.4.5. The request named one stored response,
  // so the 304 is about that one.
  return true;
}

function updated(
  stored: StoredResponse,
  request: RequestHead,
  response: ResponseHead,
  times: Times,
  options: PolicyOptions,
): StoredResponse {
  const { key, status, statusText, range, bodyLength, flags } = stored;
  const incoming = response.headers.slice();
  // RFC 9110, 6.6.1: a message without Date counts as sent now. The stored Date would make it look
  // as old as the first response.
  if (dateOf(incoming, times.responseTime) === null)
    incoming.push('Date', formatHttpDate(times.responseTime));
  const headers = updatedFields(stored.headers, incoming);
  // With another Vary the response is found by other fields from now on: those of the current
  // request. With `*` no request finds it.
  const varied =
    fieldValue(response.headers, 'vary') === undefined ? stored.varied : variedBy(headers, request.headers);
  const frame = { key, status, statusText, range, bodyLength, flags, varied: varied ?? stored.varied };
  const result = redescribed(frame, headers, response.headers, request, times, options);
  return varied === null ? { ...result, flags: result.flags | NO_CACHE } : result;
}

const CONDITIONS: ReadonlySet<string> = new Set([
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'if-range',
]);
const CONDITIONS_AND_RANGE: ReadonlySet<string> = new Set([...CONDITIONS, 'range']);
