/**
 * How long a response is fresh, how old it is, and whether it may be used when stale (RFC 9111,
 * 4.2; RFC 5861).
 *
 * Everything that can be computed when a response arrives is computed then and stored as numbers
 * and flags of the `StoredResponse`; a hit adds two numbers and compares. Ages are in milliseconds
 * by this node's clock. Where the RFC counts in seconds from a header, whole seconds are compared
 * with whole seconds. Otherwise `apparent_age` would be half a second too high on average, because
 * Date has no fraction.
 *
 * This breaks down when this node's clock is wrong by more than a response's lifetime: Date and
 * Expires then mislead, as the RFC says. If the clock was set back, a stored response comes from
 * the future, and its real age is unknown. Such a response is stale: otherwise a clock that had
 * been a year ahead would keep everything fresh for a year. Up to a minute is tolerated, because
 * clocks are corrected by small steps, and a request may have begun before a response that it
 * shares came.
 */

import { ABSENT, type Directives, INVALID, MAX_DELTA_SECONDS, parseDeltaSeconds } from './cache-control.ts';
import { combinedValue, fieldValue, fieldValues, trimmed } from './fields.ts';
import { parseHttpDate } from './http-date.ts';
import type { PolicyOptions } from './policy-options.ts';
import { isHeuristicallyCacheable } from './statuses.ts';
import type { FieldList, StoredResponse } from './stored-response.ts';

/** `no-cache`: every use needs validation (5.2.2.4). */
export const NO_CACHE = 1;
/**
 * `must-revalidate`, `proxy-revalidate`, `s-maxage`: never served stale (5.2.2.2, 5.2.2.8,
 * 5.2.2.10; 4.2.4).
 */
export const NEVER_STALE = 2;
/** `immutable`: a reload does not cause a validation (RFC 8246). */
export const IMMUTABLE = 4;
/** The lifetime is heuristic (4.2.2). */
export const HEURISTIC = 8;
/**
 * A validation brought `no-store`: the response may answer the current request and must then be
 * removed.
 */
export const FORGET = 16;
/**
 * The requests that brought the response and validated it had neither Authorization nor Cookie.
 * Responses that earlier versions stored lack the flag.
 */
export const IMPERSONAL = 32;
/** The response came from a neighbour (`peer-copy.ts`). Never on disk. */
export const PEER_COPY = 64;

export interface Times {
  /** Times at which the request was sent and the head of the response arrived. */
  readonly requestTime: number;
  readonly responseTime: number;
}

/**
 * The age in milliseconds, never negative. A response from the future counts as one whose lifetime
 * has passed, and is stale by as much as the clocks differ.
 */
export function currentAge(stored: StoredResponse, now: number): number {
  // 4.2.3: current_age = corrected_initial_age + resident_time
  const resident = now - stored.responseTime;
  if (resident > 0) return stored.initialAgeMs + resident;
  if (resident >= -CLOCK_STEP_MS) return stored.initialAgeMs;
  return Math.max(stored.initialAgeMs, stored.lifetimeMs) - resident;
}

/** 4.2: response_is_fresh = (freshness_lifetime > current_age). Ignores `no-cache`. */
export function isFresh(stored: StoredResponse, now: number): boolean {
  return stored.lifetimeMs > currentAge(stored, now);
}

/**
 * The number of whole seconds for which the response is still fresh; negative if it is stale (RFC
 * 9211, 2.4: `ttl`).
 */
export function secondsLeft(stored: StoredResponse, now: number): number {
  return Math.floor((stored.lifetimeMs - currentAge(stored, now)) / 1000);
}

/** Whether the response must be validated before each use. */
export function mustValidate(stored: StoredResponse): boolean {
  return (stored.flags & NO_CACHE) !== 0;
}

/**
 * Whether the response may stay in the store. False if it may only answer the current request; see
 * FORGET.
 */
export function mayKeep(stored: StoredResponse): boolean {
  return (stored.flags & FORGET) === 0;
}

/** 4.2.3: corrected_initial_age. */
export function initialAge(headers: FieldList, times: Times): number {
  const responseDelay = Math.max(0, times.responseTime - times.requestTime);
  const date = dateOf(headers, times.responseTime);
  const apparentAge = date === null ? 0 : Math.max(0, Math.floor(times.responseTime / 1000) * 1000 - date);
  return Math.max(apparentAge, ageValue(headers) * 1000 + responseDelay);
}

/**
 * The value of Age in seconds. 5.1: the first member of a list counts; an unreadable value is
 * ignored.
 */
function ageValue(headers: FieldList): number {
  const value = fieldValue(headers, 'age');
  if (value === undefined) return 0;
  const comma = value.indexOf(',');
  return Math.max(0, parseDeltaSeconds(trimmed(value, 0, comma < 0 ? value.length : comma)));
}

/** The time in Date, or null if the field is absent or unreadable. */
export function dateOf(headers: FieldList, now: number): number | null {
  const value = fieldValue(headers, 'date');
  return value === undefined ? null : parseHttpDate(value, now);
}

/** The time in Last-Modified, or null if the field is absent or unreadable. */
export function lastModifiedOf(headers: FieldList, now: number): number | null {
  const value = fieldValue(headers, 'last-modified');
  return value === undefined ? null : parseHttpDate(value, now);
}

export interface Lifetime {
  readonly ms: number;
  /** The origin stated a lifetime, even if it is unreadable. */
  readonly explicit: boolean;
  readonly heuristic: boolean;
}

/**
 * 4.2.1, for a shared cache: the first of s-maxage, max-age and Expires minus Date, otherwise a
 * heuristic.
 */
export function freshnessLifetime(
  status: number,
  headers: FieldList,
  directives: Directives,
  targeted: boolean,
  times: Times,
  options: PolicyOptions,
): Lifetime {
  if (directives.sMaxAge !== ABSENT) return explicit(directives.sMaxAge);
  if (directives.maxAge !== ABSENT) return explicit(directives.maxAge);
  const date = dateOf(headers, times.responseTime) ?? times.responseTime;
  // RFC 9213, 2.2: with a targeted field, Expires is ignored, like Cache-Control.
  const expires = targeted ? [] : fieldValues(headers, 'expires');
  if (expires.length > 0) {
    const [first] = expires;
    // 4.2.1: two different lines make the response stale; 5.3: an invalid date is a time in the
    // past.
    const agreed = expires.every((value) => value === first);
    const expiry = agreed ? parseHttpDate(first!, times.responseTime) : null;
    return explicit(expiry === null ? INVALID : Math.max(0, (expiry - date) / 1000));
  }
  // 4.2.2: the heuristic applies only if the status allows it, or `public` does (5.2.2.9).
  if (!isHeuristicallyCacheable(status) && !directives.public) return UNKNOWN;
  // The heuristic would be allowed, but Pragma, or cookies for one client, show that the origin did
  // not intend the response to be stored.
  if (saysPragmaNoCache(headers) || fieldValue(headers, 'set-cookie') !== undefined) return UNKNOWN;
  const lastModified = lastModifiedOf(headers, times.responseTime);
  if (lastModified === null || lastModified >= date) return UNKNOWN;
  const ms = Math.min((date - lastModified) * options.heuristicFraction, options.heuristicMaxMs);
  return { ms: Math.max(0, ms), explicit: false, heuristic: true };
}

/** A window of RFC 5861 in milliseconds, or 0 if there is none. */
export function windowMs(seconds: number): number {
  return seconds > 0 ? seconds * 1000 : 0;
}

/** The most by which a clock may go back before stored responses count as stale. */
const CLOCK_STEP_MS = 60_000;

const UNKNOWN: Lifetime = { ms: 0, explicit: false, heuristic: false };

/** 4.2.1: invalid freshness information is best treated as stale. */
function explicit(seconds: number): Lifetime {
  const ms = seconds <= 0 ? 0 : Math.min(seconds, MAX_DELTA_SECONDS) * 1000;
  return { ms, explicit: true, heuristic: false };
}

function saysPragmaNoCache(headers: FieldList): boolean {
  return combinedValue(headers, 'pragma')?.toLowerCase().includes('no-cache') ?? false;
}
