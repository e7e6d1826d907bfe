/**
 * How long a response is fresh, how old it is, and whether it may be used when it is stale (RFC 9111, 4.2; RFC 5861).
 *
 * All that can be worked out when a response comes is worked out then, into numbers and flags of the `StoredResponse`: a hit adds two
 * numbers and compares. Ages are in milliseconds by this node's clock. Where the RFC counts in seconds that came from a header, whole
 * seconds are compared with whole seconds: `apparent_age` is not half a second too old on average because Date has no fraction.
 *
 * Breaks down when this node's clock is wrong by more than a response's lifetime: then Date and Expires mislead, as the RFC has it. A
 * clock that jumps back never makes an age negative.
 */

import { ABSENT, type Directives, INVALID, MAX_DELTA_SECONDS, parseDeltaSeconds } from './cache-control.ts';
import { combinedValue, fieldValue, fieldValues, trimmed } from './fields.ts';
import { parseHttpDate } from './http-date.ts';
import type { PolicyOptions } from './policy-options.ts';
import { isHeuristicallyCacheable } from './statuses.ts';
import type { FieldList, StoredResponse } from './stored-response.ts';

/** `no-cache`: every use needs validation (5.2.2.4). */
export const NO_CACHE = 1;
/** `must-revalidate`, `proxy-revalidate`, `s-maxage`: never used stale (5.2.2.2, 5.2.2.8, 5.2.2.10; 4.2.4). */
export const NEVER_STALE = 2;
/** `immutable`: a reload is no reason to ask (RFC 8246). */
export const IMMUTABLE = 4;
/** The lifetime is a guess (4.2.2). */
export const HEURISTIC = 8;
/** A validation brought `no-store`: it may be used for the answer at hand, and is then to be forgotten. */
export const FORGET = 16;

export interface Times {
  /** When the request was sent, and when the head of the response came. */
  readonly requestTime: number;
  readonly responseTime: number;
}

/** The age in milliseconds, never negative. */
export function currentAge(stored: StoredResponse, now: number): number {
  // 4.2.3: current_age = corrected_initial_age + resident_time
  const resident = now - stored.responseTime;
  return resident > 0 ? stored.initialAgeMs + resident : stored.initialAgeMs;
}

/** 4.2: response_is_fresh = (freshness_lifetime > current_age). Says nothing of `no-cache`. */
export function isFresh(stored: StoredResponse, now: number): boolean {
  return stored.lifetimeMs > currentAge(stored, now);
}

/** For how many whole seconds it is still fresh; negative if it is stale (RFC 9211, 2.4: `ttl`). */
export function secondsLeft(stored: StoredResponse, now: number): number {
  return Math.floor((stored.lifetimeMs - currentAge(stored, now)) / 1000);
}

/** It must be validated before each use. */
export function mustValidate(stored: StoredResponse): boolean {
  return (stored.flags & NO_CACHE) !== 0;
}

/** False: it must not be stored beyond the answer at hand; see FORGET. */
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

/** The value of Age in seconds. 5.1: of a list the first member counts; what cannot be read is ignored. */
export function ageValue(headers: FieldList): number {
  const value = fieldValue(headers, 'age');
  if (value === undefined) return 0;
  const comma = value.indexOf(',');
  return Math.max(0, parseDeltaSeconds(trimmed(value, 0, comma < 0 ? value.length : comma)));
}

/** Of Date, if there is one that can be read. */
export function dateOf(headers: FieldList, now: number): number | null {
  const value = fieldValue(headers, 'date');
  return value === undefined ? null : parseHttpDate(value, now);
}

/** Of Last-Modified, if there is one that can be read. */
export function lastModifiedOf(headers: FieldList, now: number): number | null {
  const value = fieldValue(headers, 'last-modified');
  return value === undefined ? null : parseHttpDate(value, now);
}

export interface Lifetime {
  readonly ms: number;
  /** The origin said something about it, be it unreadable. */
  readonly explicit: boolean;
  readonly heuristic: boolean;
}

/** 4.2.1, for a shared cache: the first of s-maxage, max-age, Expires less Date; then a guess. */
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
  // RFC 9213, 2.2: with a targeted field, Expires counts for nothing, as Cache-Control does.
  const expires = targeted ? [] : fieldValues(headers, 'expires');
  if (expires.length > 0) {
    const [first] = expires;
    // 4.2.1: two lines that differ make it stale; 5.3: what is not a date is a time in the past.
    const agreed = expires.every((value) => value === first);
    const expiry = agreed ? parseHttpDate(first!, times.responseTime) : null;
    return explicit(expiry === null ? INVALID : Math.max(0, (expiry - date) / 1000));
  }
  // 4.2.2: a guess only where the status allows it, or `public` does (5.2.2.9).
  if (!isHeuristicallyCacheable(status) && !directives.public) return UNKNOWN;
  // Allowed to guess, but these show an origin that did not mean to be kept: Pragma, and cookies for one client.
  if (saysPragmaNoCache(headers) || fieldValue(headers, 'set-cookie') !== undefined) return UNKNOWN;
  const lastModified = lastModifiedOf(headers, times.responseTime);
  if (lastModified === null || lastModified >= date) return UNKNOWN;
  const ms = Math.min((date - lastModified) * options.heuristicFraction, options.heuristicMaxMs);
  return { ms: Math.max(0, ms), explicit: false, heuristic: true };
}

/** A window of RFC 5861 in milliseconds; 0: none. */
export function windowMs(seconds: number): number {
  return seconds > 0 ? seconds * 1000 : 0;
}

const UNKNOWN: Lifetime = { ms: 0, explicit: false, heuristic: false };

/** 4.2.1: invalid freshness information is best taken as stale. */
function explicit(seconds: number): Lifetime {
  const ms = seconds <= 0 ? 0 : Math.min(seconds, MAX_DELTA_SECONDS) * 1000;
  return { ms, explicit: true, heuristic: false };
}

function saysPragmaNoCache(headers: FieldList): boolean {
  return combinedValue(headers, 'pragma')?.toLowerCase().includes('no-cache') ?? false;
}
