/**
 * Whether a stored response may be in a summary, and so be given to neighbours, and until when.
 *
 * A summary names complete responses that a neighbour may have and can use at once:
 * - complete: no parts, and a status whose meaning lasts (200, 203, 301, 308). A 404 is left out:
 *   it saves little, and a short-lived error would spread through the fleet.
 * - for all clients: the request had neither Authorization nor Cookie, the response sets no cookie
 *   and varies by neither of them, and the URL does not look like a secret (`secret-queries.ts`;
 *   the operator can allow prefixes). `private` and `no-store` are never stored, so they need no
 *   rule here.
 * - usable: fresh, and not to be validated at each use (`no-cache`).
 *
 * The request is gone when a summary is made. `toStore` therefore sets the flag IMPERSONAL, which
 * is on disk with the response. A response that an older version stored has no such flag; its
 * request is unknown, and it is not shared.
 */

import { fieldValue } from './fields.ts';
import { IMPERSONAL, mayKeep, mustValidate } from './freshness.ts';
import { hasSecretQuery } from './secret-queries.ts';
import type { StoredResponse } from './stored-response.ts';

export interface SummaryOptions {
  /** URL prefixes under which a query that looks like a secret is none. */
  readonly share: readonly string[];
}

/**
 * The time at which the response becomes stale, in milliseconds since 1970, or null if it must not
 * be shared at any time. The caller compares the time with its clock and the age of its summary.
 */
export function shareableUntil(response: StoredResponse, { share }: SummaryOptions): number | null {
  const { key, status, range, flags, varied, headers } = response;
  if (range !== null || !SHARED_STATUSES.has(status)) return null;
  if ((flags & IMPERSONAL) === 0 || mustValidate(response) || !mayKeep(response)) return null;
  if (fieldValue(headers, 'set-cookie') !== undefined) return null;
  if (varied.some(([name]) => name === 'cookie' || name === 'authorization')) return null;
  if (hasSecretQuery(key) && !share.some((prefix) => key.startsWith(prefix))) return null;
  // RFC 9111, 4.2: fresh while freshness_lifetime > current_age.
  const until = response.responseTime + response.lifetimeMs - response.initialAgeMs;
  return until > response.responseTime ? until : null;
}

const SHARED_STATUSES: ReadonlySet<number> = new Set([200, 203, 301, 308]);
