/**
 * What to do with a request: answer from the store, ask whether that is still right, or fetch (RFC 9111, 4).
 *
 * The plain hit leaves after a handful of comparisons: one pass over the request's fields, one stored response without Vary, fresh, no
 * Cache-Control in the request. Everything else is taken one rule at a time, in the order in which a later rule could be overruled by an
 * earlier one: what a cache must not touch; which stored response; whether its bytes are enough; what the origin allows; what the client
 * wants.
 *
 * Request directives are advice (5.2.1: caches may implement them). All are followed, with two limits. A reload (`max-age=0`) of something
 * the origin called immutable is answered from the store while it is fresh (RFC 8246, 2.1). And `no-store` in a request keeps its response
 * from being stored, but does not hide what is stored already: it is about what is kept (5.2.1.5).
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
import { matchesVaried } from './vary.ts';

export function decide(
  request: RequestHead,
  stored: readonly StoredResponse[],
  now: number,
  _options: PolicyOptions,
): Decision {
  const facts = requestFacts(request.headers);
  // 4: a stored response may answer the method it was stored for; GET answers HEAD too (RFC 9110, 9.3.2).
  if (request.method !== 'GET' && request.method !== 'HEAD') return fetched('method', facts, false);
  // A GET with content asks for something the key does not name. If-Match and If-Unmodified-Since only the origin may evaluate (4.3.2).
  if (facts.content || facts.forOrigin) return fetched('bypass', facts, false);
  const response = selected(request, stored, facts);
  if (response === null) {
    return fetched(stored.length === 0 ? 'uri-miss' : 'vary-miss', facts, isShareable(request, facts));
  }
  if (response.range !== null && !hasEnough(request, response, facts)) {
    const decision = fetched('partial', facts, false);
    if (decision.kind !== 'fetch' || !wantsAll(request, facts) || !canComplete(response)) return decision;
    return { ...decision, partial: response };
  }
  const age = currentAge(response, now);
  const staleMs = age - response.lifetimeMs;
  // 4.2: fresh as long as the lifetime is greater than the age.
  const fresh = staleMs < 0;
  if (fresh && (response.flags & NO_CACHE) === 0) {
    if (facts.directives === null || suits(facts.directives, response, age))
      return served(response, false, false);
    return validated(response, 'request', facts, staleMs);
  }
  // 4.2.4: never stale where the origin forbids it; no-cache forbids even what is fresh.
  if ((response.flags & (NO_CACHE | NEVER_STALE)) === 0) {
    if (facts.directives !== null && toleratesStale(facts.directives, age, staleMs)) {
      return served(response, true, false);
    }
    // RFC 5861, 3: while the window is open, answer now and ask meanwhile, unless this client asked for better.
    if (staleMs <= response.staleWhileRevalidateMs && response.staleWhileRevalidateMs > 0) {
      if (facts.directives === null) return served(response, true, true);
      if (toleratesBackground(facts.directives, age)) {
        // A client that wants no request made, or nothing stored, does not set one off.
        return served(response, true, !facts.directives.onlyIfCached && !facts.directives.noStore);
      }
    }
  }
  return validated(response, 'stale', facts, staleMs);
}

/** 4: of several that match, the most recent; here, the one that came last. */
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
      // A newer part does not take the place of a whole, unless it is enough.
      if (candidate.range === null || hasEnough(request, candidate, facts)) best = candidate;
    } else if (best.range !== null && candidate.range === null && !hasEnough(request, best, facts)) {
      best = candidate;
    }
  }
  return best;
}

/** Whether the bytes of a partial response answer this request: 304, or ranges that lie within. */
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

/** 5.2.1: whether a fresh response is what the client wants. */
function suits(directives: Directives, response: StoredResponse, age: number): boolean {
  // 5.2.1.4
  if (directives.noCache) return false;
  // 5.2.1.1: not older than that; what cannot be read is taken as 0. RFC 8246, 2.1: a reload does not ask for what cannot have changed.
  if (directives.maxAge !== ABSENT && (response.flags & IMMUTABLE) === 0) {
    if (age > secondsOr0(directives.maxAge) && directives.maxStale === ABSENT) return false;
  }
  // 5.2.1.3: still fresh for that long.
  return directives.minFresh === ABSENT || response.lifetimeMs - age >= secondsOr0(directives.minFresh);
}

/** 5.2.1.2: the client takes it stale, but not more than so much. */
function toleratesStale(directives: Directives, age: number, staleMs: number): boolean {
  if (directives.noCache || directives.minFresh !== ABSENT || directives.maxStale === ABSENT) return false;
  // 5.2.1.1 and 5.2.1.2 together: not older than max-age and max-stale allow.
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

function served(response: StoredResponse, stale: boolean, background: boolean): Decision {
  return { kind: 'serve', response, stale, background };
}

function fetched(reason: FetchReason, facts: RequestFacts, shareable: boolean): Decision {
  // 5.2.1.7: the client wants it from the cache or not at all.
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
  // 5.2.1.5: a 304 to this request must change nothing that is stored, so it is no validation.
  if (directives?.noStore) return { kind: 'fetch', reason, shareable: false };
  // 4.2.4: a cache that is cut off may serve stale responses, unless the origin, or this client, wants none without validation.
  const fallback = (response.flags & (NO_CACHE | NEVER_STALE)) === 0 && !directives?.noCache;
  // RFC 5861, 4: for errors of the origin, only within the window that it, or the client, gave.
  const window = Math.max(response.staleIfErrorMs, secondsOr0(directives?.staleIfError ?? ABSENT));
  const errorFallback = fallback && (staleMs < 0 || (window > 0 && staleMs <= window));
  return { kind: 'validate', response, fallback, errorFallback, reason };
}

/** Whether the answer of the origin may serve others too: if it is for the plain request, and may be stored. */
function isShareable(request: RequestHead, facts: RequestFacts): boolean {
  return (
    request.method === 'GET' &&
    facts.range === undefined &&
    facts.ifNoneMatch === undefined &&
    facts.ifModifiedSince === undefined &&
    (facts.directives === null || (!facts.directives.noStore && !facts.directives.noCache))
  );
}
