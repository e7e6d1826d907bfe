/**
 * Entity tags and the preconditions that a cache may evaluate itself (RFC 9110, 8.8.3, 13.1; RFC
 * 9111, 4.3.2).
 *
 * If-Match and If-Unmodified-Since are not handled here: they guard changes at the origin, and a
 * cache must not evaluate them (4.3.2). `decide` forwards such requests. Tags are compared as
 * opaque text. A tag without its quotes equals only itself, because repairing it would mean
 * guessing how the origin compares it.
 */

import { listMembers } from './fields.ts';
import { dateOf } from './freshness.ts';
import { parseHttpDate } from './http-date.ts';
import type { RequestFacts } from './request-facts.ts';
import type { StoredResponse } from './stored-response.ts';

/** 8.8.3.2, weak comparison: the tags are equal regardless of weakness. */
export function weaklyEqual(one: string, other: string): boolean {
  return opaque(one) === opaque(other);
}

/** 8.8.3.2, strong comparison: both tags are strong, and they are equal. */
export function stronglyEqual(one: string, other: string): boolean {
  return one === other && isStrongTag(one);
}

export function isStrongTag(tag: string): boolean {
  return tag.length >= 2 && tag.startsWith('"') && tag.endsWith('"');
}

/**
 * 8.8.2.2: a Last-Modified is strong if it is old enough compared with Date that the resource
 * cannot have changed twice within its second. We require one minute, because clocks differ.
 */
export function hasStrongDate(stored: StoredResponse): boolean {
  if (stored.lastModified === null) return false;
  const date = dateOf(stored.headers, stored.responseTime);
  return date !== null && date - stored.lastModified >= 60_000;
}

/** Whether the client already has the stored representation, so that the answer is 304 (4.3.2). */
export function isNotModified(facts: RequestFacts, stored: StoredResponse): boolean {
  // RFC 9110, 13.2.1: preconditions apply only if the answer would otherwise be 2xx.
  if (stored.status < 200 || stored.status > 299) return false;
  // 13.1.3: If-Modified-Since is ignored if there is an If-None-Match.
  if (facts.ifNoneMatch !== undefined) return matchesTags(facts.ifNoneMatch, stored.etag);
  if (facts.ifModifiedSince === undefined) return false;
  const since = parseHttpDate(facts.ifModifiedSince, stored.responseTime);
  // 13.1.3: a condition with an invalid date is ignored.
  if (since === null) return false;
  // RFC 9111, 4.3.2: without Last-Modified, Date is used instead, and without Date the time at
  // which the response arrived.
  const modified = stored.lastModified ?? dateOf(stored.headers, stored.responseTime) ?? stored.responseTime;
  return modified <= since;
}

/**
 * 13.1.5: whether Range is to be applied. A tag is compared strongly. A date must equal
 * Last-Modified exactly, and Last-Modified must be strong.
 */
export function holdsIfRange(ifRange: string | undefined, stored: StoredResponse): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.startsWith('"')) return stored.etag !== null && stronglyEqual(ifRange, stored.etag);
  const date = parseHttpDate(ifRange, stored.responseTime);
  return date !== null && date === stored.lastModified && hasStrongDate(stored);
}

/**
 * 13.1.2: `*` matches any stored representation; otherwise one of the tags must match it weakly.
 */
function matchesTags(value: string, etag: string | null): boolean {
  if (value === '*') return true;
  if (etag === null) return false;
  // Browsers send a single tag, which is compared without splitting the list.
  if (value === etag) return true;
  const wanted = opaque(etag);
  return listMembers(value).some((tag) => tag === '*' || opaque(tag) === wanted);
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
