/**
 * Entity tags and the preconditions a cache may answer itself (RFC 9110, 8.8.3, 13.1; RFC 9111, 4.3.2).
 *
 * If-Match and If-Unmodified-Since are not here: they guard changes at the origin, and a cache must not evaluate them (4.3.2); `decide`
 * sends such requests on. Tags are compared as opaque text. One that lacks its quotes equals only itself: repairing it would be a guess
 * about what the origin compares.
 */

import { listMembers } from './fields.ts';
import { dateOf } from './freshness.ts';
import { parseHttpDate } from './http-date.ts';
import type { RequestFacts } from './request-facts.ts';
import type { StoredResponse } from './stored-response.ts';

/** 8.8.3.2: equal whatever their weakness. */
export function weaklyEqual(one: string, other: string): boolean {
  return opaque(one) === opaque(other);
}

/** 8.8.3.2: both strong, and equal. */
export function stronglyEqual(one: string, other: string): boolean {
  return one === other && isStrongTag(one);
}

export function isStrongTag(tag: string): boolean {
  return tag.length >= 2 && tag.startsWith('"') && tag.endsWith('"');
}

/**
 * 8.8.2.2: a Last-Modified is strong if it is so much older than Date that nothing can have been changed twice within its second. One
 * minute, for clocks that differ.
 */
export function hasStrongDate(stored: StoredResponse): boolean {
  if (stored.lastModified === null) return false;
  const date = dateOf(stored.headers, stored.responseTime);
  return date !== null && date - stored.lastModified >= 60_000;
}

/** Whether the client has what is stored already, so that 304 is the answer (4.3.2). */
export function isNotModified(facts: RequestFacts, stored: StoredResponse): boolean {
  // RFC 9110, 13.2.1: preconditions count only where the answer would be 2xx.
  if (stored.status < 200 || stored.status > 299) return false;
  // 13.1.3: with If-None-Match, If-Modified-Since is ignored, whatever it says.
  if (facts.ifNoneMatch !== undefined) return matchesTags(facts.ifNoneMatch, stored.etag);
  if (facts.ifModifiedSince === undefined) return false;
  const since = parseHttpDate(facts.ifModifiedSince, stored.responseTime);
  // 13.1.3: no date, no condition.
  if (since === null) return false;
  // RFC 9111, 4.3.2: without Last-Modified, Date stands in for it, and without Date the time it came.
  const modified = stored.lastModified ?? dateOf(stored.headers, stored.responseTime) ?? stored.responseTime;
  return modified <= since;
}

/** 13.1.5: whether Range is to be heeded. With a tag: the strong comparison; with a date: exactly Last-Modified, if that is strong. */
export function holdsIfRange(ifRange: string | undefined, stored: StoredResponse): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.startsWith('"')) return stored.etag !== null && stronglyEqual(ifRange, stored.etag);
  const date = parseHttpDate(ifRange, stored.responseTime);
  return date !== null && date === stored.lastModified && hasStrongDate(stored);
}

/** 13.1.2: `*` is true of any stored representation; else one of the tags must equal it weakly. */
function matchesTags(value: string, etag: string | null): boolean {
  if (value === '*') return true;
  if (etag === null) return false;
  // The one tag that browsers send, without cutting anything up.
  if (value === etag) return true;
  const wanted = opaque(etag);
  return listMembers(value).some((tag) => tag === '*' || opaque(tag) === wanted);
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
