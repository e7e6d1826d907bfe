/**
 * Decides how to handle a request: answer from the store, validate the stored response, or fetch
 * (RFC 9111, 4).
 *
 * A plain hit takes a handful of comparisons: one pass over the request's fields, one stored
 * response without Vary, fresh, and no Cache-Control in the request. All other requests go through
 * the rules one at a time. Earlier rules overrule later ones, so the order is: requests that a
 * cache must not touch, the choice of the stored response, whether its bytes are sufficient, what
 * the origin allows, what the client wants.
 *
 * Request directives are advice (5.2.1: caches may implement them). We follow all of them, with two
 * limits. A reload (`max-age=0`) of a response that the origin called immutable is answered from
 * the store while it is fresh (RFC 8246, 2.1). And `no-store` in a request keeps its response from
 * being stored, but the request may still be answered from the store, because the directive is
 * about storing (5.2.1.5).
 *
 * A request with `only-if-cached` gets a stored 200 or 206, or 504. A stored redirect or error is
 * not used for it, although 5.2.1.7 would allow that: such requests come from Squid siblings, which
 * pass every status but 502 and 504 on to their client as the final answer.
 */

import { ABSENT, type Directives } from './cache-control.ts';
import { holdsIfRange, isNotModified } from './conditions.ts';
import type { Decision, FetchReason } from './decision.ts';
import { currentAge, IMMUTABLE, NEVER_STALE, NO_CACHE } from './freshness.ts';
import type { RequestHead } from './message-head.ts';
import { canComplete, hasRanges } from './partial.ts';
import type { PolicyOptions } from './policy-options.ts';
import { type RequestFacts, requestFacts } from './request-facts.ts';
import type { StoredResponse } from './stored-response.ts';
import { matchesVaried, namesOf } from './vary.ts';

export function decide(
  request: RequestHead,
  stored: readonly StoredResponse[],
  now: number,
  { validAfter }: PolicyOptions,
): Decision {
  const facts = requestFacts(request.headers);
  // 4: a stored response may answer the method that it was stored for; GET also answers HEAD (RFC
  // 9110, 9.3.2).
  if (request.method !== 'GET' && request.method !== 'HEAD') return fetched('method', facts, false);
  // A GET with content asks for something that the key does not identify. Only the origin may
  // evaluate If-Match and If-Unmodified-Since (4.3.2).
  if (facts.content || facts.forOrigin) return fetched('bypass', facts, false);
  const response = selected(request, stored, facts);
  if (response === null) {
    if (stored.length === 0) return fetched('uri-miss', facts, isShareable(request, facts));
    const decision = fetched('vary-miss', facts, isShareable(request, facts));
    if (decision.kind !== 'fetch') return decision;
    // The newest response says what the origin selects by now.
    return { ...decision, variedBy: namesOf(stored[0]!.varied) };
  }
  if (response.range !== null && !hasEnough(request, response, facts)) {
    const decision = fetched('partial', facts, false);
    if (decision.kind !== 'fetch' || !wantsAll(request, facts) || !canComplete(response)) return decision;
    return { ...decision, partial: response };
  }
  if (facts.directives?.onlyIfCached && !isForSiblings(response)) return NOT_CACHED;
  if (validAfter !== undefined && response.responseTime < validAfter()) {
    const decision = validated(response, 'stale', facts, Number.POSITIVE_INFINITY);
    return decision.kind === 'validate' ? { ...decision, fallback: false, errorFallback: false } : decision;
  }
  const age = currentAge(response, now);
  const staleMs = age - response.lifetimeMs;
  // 4.2: a response is fresh while its lifetime is greater than its age.
  const fresh = staleMs < 0;
  if (fresh && (response.flags & NO_CACHE) === 0) {
    if (facts.directives === null || suits(facts.directives, response, age))
      return served(response, false, false);
    return validated(response, 'request', facts, staleMs);
  }
  // 4.2.4: a response is never served stale if the origin forbids it; no-cache also forbids serving
  // a fresh one.
  if ((response.flags & (NO_CACHE | NEVER_STALE)) === 0) {
    if (facts.directives !== null && toleratesStale(facts.directives, age, staleMs)) {
      return served(response, true, false);
    }
    // RFC 5861, 3: within the window, answer now and revalidate in the background, unless this
    // client asked for a fresher response.
    if (staleMs <= response.staleWhileRevalidateMs && response.staleWhileRevalidateMs > 0) {
      if (facts.directives === null) return served(response, true, true);
      if (toleratesBackground(facts.directives, age)) {
        // A client that wants no request made (only-if-cached), or nothing stored (no-store), does
        // not start a background fetch.
        return served(response, true, !facts.directives.onlyIfCached && !facts.directives.noStore);
      }
    }
  }
  return validated(response, 'stale', facts, staleMs);
}

/**
 * 4: if several stored responses match, the most recent is used; here that is the one that arrived
 * last.
 */
function selected(
  request: RequestHead,
  stored: readonly StoredResponse[],
  facts: RequestFacts,
): StoredResponse | null {
  let best: StoredResponse | null = null;
  for (let i = 0; i < stored.length; i++) {
    const candidate = stored[i]!;
    if (candidate.varied.length > 0 && !matchesVaried(candidate.varied, request.headers)) continue;
    if (best === null) best = candidate;
    else if (candidate.responseTime > best.responseTime) {
      // A newer partial response replaces a complete one only if its bytes are sufficient.
      if (candidate.range === null || hasEnough(request, candidate, facts)) best = candidate;
    } else if (best.range !== null && candidate.range === null && !hasEnough(request, best, facts)) {
      best = candidate;
    }
  }
  return best;
}

/**
 * Whether the bytes of a partial response answer this request: with a 304, or because the requested
 * ranges lie within them.
 */
function hasEnough(request: RequestHead, response: StoredResponse, facts: RequestFacts): boolean {
  if (response.range === null) return true;
  if (isNotModified(facts, response)) return true;
  if (request.method !== 'GET' || facts.range === undefined) return false;
  return holdsIfRange(facts.ifRange, response) && hasRanges(response, facts.range);
}

function wantsAll(request: RequestHead, facts: RequestFacts): boolean {
  return (
    request.method === 'GET' &&
    facts.range === undefined &&
    facts.ifNoneMatch === undefined &&
    facts.ifModifiedSince === undefined &&
    !facts.directives?.noStore
  );
}

/** 5.2.1: whether a fresh response satisfies the client's directives. */
function suits(directives: Directives, response: StoredResponse, age: number): boolean {
  // 5.2.1.4
  if (directives.noCache) return false;
  // 5.2.1.1: not older than max-age; an unreadable value counts as 0. RFC 8246, 2.1: a reload does
  // not validate a response that cannot have changed.
  if (directives.maxAge !== ABSENT && (response.flags & IMMUTABLE) === 0) {
    if (age > secondsOr0(directives.maxAge) && directives.maxStale === ABSENT) return false;
  }
  // 5.2.1.3: the response stays fresh for at least min-fresh.
  return directives.minFresh === ABSENT || response.lifetimeMs - age >= secondsOr0(directives.minFresh);
}

/** 5.2.1.2: the client accepts a stale response, up to the staleness in max-stale. */
function toleratesStale(directives: Directives, age: number, staleMs: number): boolean {
  if (directives.noCache || directives.minFresh !== ABSENT || directives.maxStale === ABSENT) return false;
  // 5.2.1.1 and 5.2.1.2 combined: the age is at most max-age plus max-stale.
  if (directives.maxAge !== ABSENT && age > secondsOr0(directives.maxAge) + secondsOr0(directives.maxStale)) {
    return false;
  }
  return staleMs <= secondsOr0(directives.maxStale);
}

function toleratesBackground(directives: Directives, age: number): boolean {
  if (directives.noCache || directives.minFresh !== ABSENT) return false;
  return directives.maxAge === ABSENT || age <= secondsOr0(directives.maxAge);
}

function secondsOr0(seconds: number): number {
  return seconds > 0 ? seconds * 1000 : 0;
}

function isForSiblings({ status }: StoredResponse): boolean {
  return status === 200 || status === 206;
}

function served(response: StoredResponse, stale: boolean, background: boolean): Decision {
  return { kind: 'serve', response, stale, background };
}

function fetched(reason: FetchReason, facts: RequestFacts, shareable: boolean): Decision {
  // 5.2.1.7: the client wants a stored response or none.
  if (facts.directives?.onlyIfCached) return NOT_CACHED;
  return { kind: 'fetch', reason, shareable };
}

const NOT_CACHED: Decision = { kind: 'not-cached' };

function validated(
  response: StoredResponse,
  reason: FetchReason,
  facts: RequestFacts,
  staleMs: number,
): Decision {
  const { directives } = facts;
  if (directives?.onlyIfCached) return NOT_CACHED;
  // 5.2.1.5: a 304 to this request must not change a stored response, so this request is not used
  // for validation.
  if (directives?.noStore) return { kind: 'fetch', reason, shareable: false };
  // 4.2.4: a disconnected cache may serve stale responses, unless the origin or this client
  // requires validation.
  const fallback = (response.flags & (NO_CACHE | NEVER_STALE)) === 0 && !directives?.noCache;
  // RFC 5861, 4: for errors of the origin, only within the window that the origin or the client
  // gave.
  const window = Math.max(response.staleIfErrorMs, secondsOr0(directives?.staleIfError ?? ABSENT));
  const errorFallback = fallback && (staleMs < 0 || (window > 0 && staleMs <= window));
  return { kind: 'validate', response, fallback, errorFallback, reason };
}

/**
 * Whether the origin's answer may also serve other waiting clients: only for a plain request whose
 * response may be stored.
 */
function isShareable(request: RequestHead, facts: RequestFacts): boolean {
  return (
    request.method === 'GET' &&
    facts.range === undefined &&
    facts.ifNoneMatch === undefined &&
    facts.ifModifiedSince === undefined &&
    (facts.directives === null || (!facts.directives.noStore && !facts.directives.noCache))
  );
}
