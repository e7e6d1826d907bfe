/**
 * Asking the origin whether a stored response is still right, and what its answer changes (RFC 9111, 4.3).
 *
 * The request carries the validators of the one stored response, and not the client's own: then a 304 can only mean that one, even
 * from the many servers that leave ETag out of it. The client's conditions are answered afterwards from the result (`answerFrom`).
 *
 * A 304 that names another representation than the one asked about updates nothing (4.3.4); the proxy then asks again without conditions.
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
 * The client's fields with the stored validators in place of its own (4.3.1). A Range of the client goes, since the whole is wanted, unless
 * only a part is stored: then it asks for as much as before. They go through `requestFieldsToForward`, as all do.
 */
export function validationFields(request: RequestHead, stored: StoredResponse): string[] {
  const fields = withoutFields(request.headers, stored.range === null ? CONDITIONS_AND_RANGE : CONDITIONS);
  // 4.3.1: the tag if there is one; Last-Modified as well, for servers that know no tags.
  if (stored.etag !== null) fields.push('If-None-Match', stored.etag);
  if (stored.lastModified !== null)
    fields.push('If-Modified-Since', fieldValue(stored.headers, 'last-modified')!);
  return fields;
}

/** Whether a conditional request can be made of it at all. */
export function hasValidator(stored: StoredResponse): boolean {
  return stored.etag !== null || stored.lastModified !== null;
}

/**
 * The stored response after a 304 (4.3.4). Null: the 304 is about another representation, nothing is updated, and the request must be made
 * again without conditions. If `mayKeep` is false of the result, it answers this request and is then to be removed from the store.
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
 * The stored response after a 200 to HEAD that went to the origin (4.3.5): updated if it still describes the same bytes, else one that
 * must be validated before its next use. Null: the HEAD says nothing about it.
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
  // Says nothing of which body it is about: not a reason to keep the one that is here any longer.
  if (etag === undefined && lastModified === undefined && length === undefined) return null;
  // 4.3.5: every validator that came equals the stored one, and the length is the same.
  const same =
    (etag === undefined || etag === stored.etag) &&
    (lastModified === undefined || lastModified === fieldValue(stored.headers, 'last-modified')) &&
    (length === undefined || stored.bodyLength < 0 || Number(length) === stored.bodyLength);
  if (!same) return { ...stored, lifetimeMs: 0, staleWhileRevalidateMs: 0, flags: stored.flags | NO_CACHE };
  return updated(stored, request, response, times, options);
}

/** 4.3.4: which stored response a 304 is about, by the first of these that applies. */
function isAbout(stored: StoredResponse, response: ResponseHead, times: Times): boolean {
  const etag = fieldValue(response.headers, 'etag');
  const lastModified = lastModifiedOf(response.headers, times.responseTime);
  if (etag !== undefined && etag !== '') {
    if (stored.etag !== null) {
      // A strong tag names its representation: the stored one must have the same. A weak one corresponds weakly.
      return isStrongTag(etag) && isStrongTag(stored.etag)
        ? etag === stored.etag
        : weaklyEqual(etag, stored.etag);
    }
    // The stored one has no tag, and was asked about by its date: that must be the same, and strong, to outweigh a tag never seen.
    return (
      lastModified !== null &&
      lastModified === stored.lastModified &&
      (!isStrongTag(etag) || hasStrongDate(stored))
    );
  }
  if (lastModified !== null && stored.lastModified !== null) return lastModified === stored.lastModified;
  // No validator in the 304, against RFC 9110, 15.4.5. It answers a request that named one stored response, so it is about that one.
  return true;
}

function updated(
  stored: StoredResponse,
  request: RequestHead,
  response: ResponseHead,
  times: Times,
  options: PolicyOptions,
): StoredResponse {
  const { key, status, statusText, range, bodyLength } = stored;
  const incoming = response.headers.slice();
  // RFC 9110, 6.6.1: a message without Date is of now. The stored Date would make it look as old as the first response.
  if (dateOf(incoming, times.responseTime) === null)
    incoming.push('Date', formatHttpDate(times.responseTime));
  const headers = updatedFields(stored.headers, incoming);
  // With another Vary it is found by other fields from now on: those of the request that was just answered. `*` is found by none.
  const varied =
    fieldValue(response.headers, 'vary') === undefined ? stored.varied : variedBy(headers, request.headers);
  const frame = { key, status, statusText, range, bodyLength, varied: varied ?? stored.varied };
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
