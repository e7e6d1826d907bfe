/**
 * Stored responses that are invalidated by a request that changed something (RFC 9111, 4.4).
 *
 * A method that is not known to be safe, answered with 2xx or 3xx, invalidates the URI that it was
 * for. It also invalidates the URIs of Location and Content-Location, but only those of the same
 * origin. Otherwise any origin could remove the stored responses of another one (4.4, 7.4).
 */

import { originOf, resolvedKey } from './cache-key.ts';
import { fieldValue } from './fields.ts';
import type { RequestHead, ResponseHead } from './message-head.ts';

export function keysToInvalidate(request: RequestHead, response: ResponseHead): string[] {
  if (isSafe(request.method) || response.status < 200 || response.status > 399) return [];
  const keys = new Set([request.key]);
  for (const name of ['location', 'content-location']) {
    const reference = fieldValue(response.headers, name);
    const key = reference === undefined ? null : resolvedKey(request.key, reference);
    if (key !== null && originOf(key) === originOf(request.key)) keys.add(key);
  }
  return [...keys];
}

/**
 * The methods of RFC 9110, 9.2.1 and the safe ones of the method registry. Methods are
 * case-sensitive: `get` is unknown, and therefore unsafe.
 */
export function isSafe(method: string): boolean {
  return SAFE.has(method);
}

const SAFE: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'REPORT',
  'SEARCH',
]);
