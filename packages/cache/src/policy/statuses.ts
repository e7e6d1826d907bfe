/** The meaning of status codes for a cache. */

/**
 * RFC 9110, 15.1: may be stored and reused with a heuristic lifetime, if there is no explicit one.
 */
export function isHeuristicallyCacheable(status: number): boolean {
  return HEURISTIC.has(status);
}

/**
 * For `must-understand` (RFC 9111, 5.2.2.3): final codes whose caching requirements this cache
 * knows and meets.
 */
export function isUnderstood(status: number): boolean {
  return UNDERSTOOD.has(status);
}

/**
 * Final status codes that are never stored. RFC 6585 says so for 428, 429, 431 and 511. The others
 * depend on a property of the single request (its credentials, preconditions, ranges, expectations,
 * connection) that is not part of the cache key. If stored, they would answer requests without that
 * property. 304 and 1xx are not responses of their own (RFC 9111, 3).
 *
 * So do 400, 413 and 414: a client that sends a field too long or too odd for the origin could
 * otherwise have its error stored in the place of the page, for all (cache-poisoned denial of
 * service). RFC 9110, 15.1 names 414 among the statuses that may be stored by heuristics. We do not
 * use that: the URL is in the key, but the limit that was passed is often that of URL and fields
 * together.
 */
export function isNeverStored(status: number): boolean {
  return status < 200 || status > 599 || NEVER.has(status);
}

/** RFC 5861, 4: the errors for which stale-if-error allows a stale response. */
export function isServerError(status: number): boolean {
  return status === 500 || status === 502 || status === 503 || status === 504;
}

/**
 * Status codes without content (RFC 9110, 6.4.1, 15.3.5, 15.4.5), for which no Content-Length is
 * generated.
 */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}

const HEURISTIC: ReadonlySet<number> = new Set([200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 501]);

const UNDERSTOOD: ReadonlySet<number> = new Set([
  ...HEURISTIC,
  ...[201, 202, 205, 302, 303, 307, 402, 403, 406, 409, 411, 415, 422, 451],
  ...[500, 502, 503, 504, 505],
]);

const NEVER: ReadonlySet<number> = new Set([
  304, 400, 401, 407, 408, 412, 413, 414, 416, 417, 421, 425, 426, 428, 429, 431, 511,
]);
